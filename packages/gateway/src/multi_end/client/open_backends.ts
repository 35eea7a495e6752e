import type { Http3Client } from '@sheaf/native';

/** One backend as this client knows it. */
interface KnownBackend {
  state: 'offered' | 'open' | 'withdrawn';
  /** Requests in flight. */
  active: number;
  /** As it said with its latest response: the share of the time in which it was busy. */
  load: number;
}

/** Round-trip times are looked at this often at most. */
const freshMs = 100;
/** No round-trip time is so short that the load would not count. */
const minRttMs = 0.5;
/** Nobody is busier than this, or two busy backends could not be told apart by their distance. */
const maxLoad = 0.95;

/** The backends of one connection: opens those that are offered, and knows which of several answers soonest. */
export class OpenBackends {
  readonly #client: Http3Client;
  readonly #backends = new Map<number, KnownBackend>();
  #roundTrips = new Map<number, number>();
  #lookedAt = -freshMs;
  readonly #opening = new Set<Promise<unknown>>();

  constructor(client: Http3Client) {
    this.#client = client;
    client.on('backendOffered', ({ backend }) => void this.#open(backend));
    client.on('backendPathOpen', ({ backend }) => this.#set(backend, 'open'));
    client.on('backendWithdrawn', ({ backend }) => this.#set(backend, 'withdrawn'));
    client.on('backendLost', ({ backend }) => this.#backends.delete(backend));
    // Offers may have come before anybody listened.
    for (const { backend, state } of client.status().backends) if (state === 'offered') void this.#open(backend);
  }

  get any(): boolean {
    return this.#backends.size > 0;
  }

  /** Those offered so far have answered or failed to. */
  async opened(): Promise<void> {
    await Promise.all(this.#opening);
  }

  /**
   * The one of these that is expected to answer soonest: its round trip, times the requests that it has of us, times
   * what its load makes of them (the waiting time of a server that is busy for a share `load` of the time grows with
   * 1 / (1 - load)).
   */
  choose(candidates: readonly number[], excluded: ReadonlySet<number>): number | undefined {
    const usable = candidates.filter(
      (backend) => this.#backends.get(backend)?.state === 'open' && !excluded.has(backend),
    );
    if (usable.length < 2) return usable[0];
    this.#look();
    const ranked = usable
      .map((backend) => ({ backend, cost: this.#cost(backend) }))
      .sort((left, right) => left.cost - right.cost);
    return ranked[0]?.backend;
  }

  started(backend: number): void {
    const known = this.#backends.get(backend);
    if (known) known.active += 1;
  }

  ended(backend: number): void {
    const known = this.#backends.get(backend);
    // Requests on a lost path may finish after it was replaced.
    if (known) known.active = Math.max(0, known.active - 1);
  }

  setLoad(backend: number, header: string): void {
    const known = this.#backends.get(backend);
    const load = Number(header);
    if (known && load >= 0 && load <= 1) known.load = load;
  }

  #cost(backend: number): number {
    const { active, load } = this.#backends.get(backend)!;
    const rtt = Math.max(minRttMs, this.#roundTrips.get(backend) ?? 0);
    return (rtt * (1 + active)) / (1 - Math.min(load, maxLoad));
  }

  #look(): void {
    const now = performance.now();
    if (now - this.#lookedAt < freshMs) return;
    this.#lookedAt = now;
    this.#roundTrips = new Map(
      this.#client.status().backends.map(({ backend, smoothedRttMs }) => [backend, smoothedRttMs]),
    );
  }

  #set(backend: number, state: KnownBackend['state']): void {
    const known = this.#backends.get(backend);
    this.#backends.set(backend, { active: 0, load: 0, ...known, state });
  }

  /** Ahead of the first request, so that it goes there without a round trip before it. */
  async #open(backend: number): Promise<void> {
    this.#backends.set(backend, { state: 'offered', active: this.#backends.get(backend)?.active ?? 0, load: 0 });
    // One that does not answer is lost by the connection's own rules; the gateway is there meanwhile.
    const opening = this.#client.openBackend(backend).catch(() => undefined);
    this.#opening.add(opening);
    await opening;
    this.#opening.delete(opening);
  }
}
