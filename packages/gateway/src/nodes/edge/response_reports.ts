import { MAXIMUM_RESPONSES, type ResponsePart, type ResponseReport } from '@sheaf/web-client/protocol';
import type { PartListener } from '../../multi_end/client/backend_client.js';

/** Records one response while its parts arrive. */
export class RecordedResponse implements PartListener {
  readonly #parts: { backend?: number; bytes: number }[] = [];
  #ended = false;

  constructor(readonly id: number) {}

  begin(backend: number | undefined): void {
    this.#parts.push({ ...(backend === undefined ? {} : { backend }), bytes: 0 });
  }

  received(bytes: number): void {
    const latest = this.#parts.at(-1);
    if (latest) latest.bytes += bytes;
  }

  end(): void {
    this.#ended = true;
  }

  get ended(): boolean {
    return this.#ended;
  }

  report(): ResponseReport {
    return { id: this.id, ended: this.#ended, parts: this.#parts.map((part): ResponsePart => ({ ...part })) };
  }
}

/** Remembers which servers sent the latest responses. */
export class ResponseReports {
  /** Responses in the order in which they began */
  readonly #responses = new Map<number, RecordedResponse>();
  #added = 0;

  /** Several workers of an edge give their responses numbers of which none has two. */
  constructor(private readonly worker: { index: number; count: number } = { index: 0, count: 1 }) {}

  add(): RecordedResponse {
    const { index, count } = this.worker;
    const response = new RecordedResponse(index + this.#added++ * count);
    this.#responses.set(response.id, response);
    if (this.#responses.size > MAXIMUM_RESPONSES) this.#forgetOne();
    return response;
  }

  /** Forgets the oldest response that has ended, since pages have seen it; if none has ended, the oldest of all. */
  #forgetOne(): void {
    let [oldest] = this.#responses.values();
    for (const response of this.#responses.values()) {
      if (!response.ended) continue;
      oldest = response;
      break;
    }
    if (oldest) this.#responses.delete(oldest.id);
  }

  latest(): ResponseReport[] {
    return [...this.#responses.values()].map((response) => response.report());
  }
}
