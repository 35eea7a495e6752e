import type { ClientRequestOptions, ClientResponse, Http3Client } from '@sheaf/native';
import { WELL_KNOWN, type LeaseReport } from '@sheaf/web-client/protocol';
import { leaseSchema } from '../../multi_end/protocol/lease.js';
import { readText } from '../../http/read_text.js';

/** Times in milliseconds. */
const times = {
  /** Between two questions. */
  period: 1_000,
  /** A backend that has not answered by then is not waited for. */
  patience: 2_000,
  /** What was said longer ago is not told any more. */
  kept: 4_000,
};
/** More than any response has. */
const maxBytes = 1_024;

/** What asks a connection's backends, and says which there are. */
interface AskingClient extends Pick<Http3Client, 'status'> {
  request(options: ClientRequestOptions): Promise<ClientResponse>;
}

/** The leases of the backends of one connection: each backend is asked on its own path, and only while somebody wants to know. */
export class LeaseReports {
  readonly #client: AskingClient;
  #leases: ReadonlyMap<number, LeaseReport> = new Map();
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking = false;

  constructor(client: AskingClient) {
    this.#client = client;
  }

  /** By path, as the backends said last; they are asked again for the next time. */
  latest(): ReadonlyMap<number, LeaseReport> {
    const age = performance.now() - this.#askedAt;
    if (age > times.kept) this.#leases = new Map();
    if (age >= times.period && !this.#asking) void this.#askAll();
    return this.#leases;
  }

  /** Never rejects. */
  async #askAll(): Promise<void> {
    this.#asking = true;
    this.#askedAt = performance.now();
    const open = this.#client.status().backends.filter(({ state }) => state === 'open');
    const answers = await Promise.all(
      open.map(async ({ backend, path }) => [path, await this.#ask(backend).catch(() => undefined)] as const),
    );
    this.#leases = new Map(answers.flatMap(([path, lease]) => (lease ? [[path, lease] as const] : [])));
    this.#asking = false;
  }

  async #ask(backend: number): Promise<LeaseReport | undefined> {
    const response = await this.#client.request({
      path: WELL_KNOWN.lease,
      backend,
      signal: AbortSignal.timeout(times.patience),
    });
    try {
      // An older backend does not know the question.
      if (response.status !== 200) return undefined;
      const { granted, returned, left } = leaseSchema.parse(JSON.parse(await readText(response, maxBytes)));
      const used = granted - returned - left;
      return used < 0 ? undefined : { granted: granted - returned, used };
    } finally {
      response.destroy();
    }
  }
}
