import type { ClientRequestOptions, ClientResponse, Http3Client } from '@sheaf/native';
import { WELL_KNOWN, type LeaseReport } from '@sheaf/web-client/protocol';
import { leaseSchema } from '../../multi_end/protocol/lease.js';
import { readText } from '../../http/read_text.js';

/** Times in milliseconds. */
const times = {
  /** Interval between requests */
  period: 1_000,
  /** Time after which a backend without a response is not waited for */
  patience: 2_000,
  /** Age beyond which a lease is not reported */
  kept: 4_000,
};
/** Maximum size of a response, more than any has */
const maxBytes = 1_024;

/** The part of a client that asks the backends of a connection, and lists them */
interface AskingClient extends Pick<Http3Client, 'status'> {
  request(options: ClientRequestOptions): Promise<ClientResponse>;
}

/**
 * The leases of the backends of one connection. Each backend is asked on its own path, and only while a page asks here.
 */
export class LeaseReports {
  readonly #client: AskingClient;
  #leases: ReadonlyMap<number, LeaseReport> = new Map();
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking = false;

  constructor(client: AskingClient) {
    this.#client = client;
  }

  /** Returns the latest leases by path, and asks the backends again for the next call. */
  latest(): ReadonlyMap<number, LeaseReport> {
    const age = performance.now() - this.#askedAt;
    if (age > times.kept) this.#leases = new Map();
    if (age >= times.period && !this.#asking) void this.#askAll();
    return this.#leases;
  }

  /** Asks all backends. Never rejects. */
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
      // An older backend does not know this resource.
      if (response.status !== 200) return undefined;
      const { granted, returned, left } = leaseSchema.parse(JSON.parse(await readText(response, maxBytes)));
      const used = granted - returned - left;
      return used < 0 ? undefined : { granted: granted - returned, used };
    } finally {
      response.destroy();
    }
  }
}
