import type { Http3Client } from '@sheaf/native';

/** One backend as this client knows it */
interface KnownBackend {
  state: 'offered' | 'open' | 'withdrawn';
  /** Requests in flight */
  active: number;
  /** Busy share of the time, as the latest response of the backend reported it */
  load: number;
}

/** Time in milliseconds for which round-trip times are reused */
const freshMs = 100;
/** Minimum round-trip time in the comparison, so that the load always counts */
const minRttMs = 0.5;
/** Maximum load in the comparison, so that two busy backends still differ by their distance */
const maxLoad = 0.95;

/** The backends of one connection. Opens the offered ones, and estimates which of several answers soonest. */
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
    // Offers may have come before these listeners were added.
    for (const { backend, state } of client.status().backends) if (state === 'offered') void this.#open(backend);
  }

  get any(): boolean {
    return this.#backends.size > 0;
  }

  /** Resolves when the backends offered so far have answered or failed. */
  async opened(): Promise<void> {
    await Promise.all(this.#opening);
  }

  /**
   * Returns the candidate that is expected to answer soonest. The estimate is its round-trip time, times our requests
   * in flight there, times 1 / (1 - load), by which the wait at a server grows that is busy for a share `load` of the
   * time.
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

  /** Opens a backend ahead of the first request, which then needs no additional round trip. */
  async #open(backend: number): Promise<void> {
    this.#backends.set(backend, { state: 'offered', active: this.#backends.get(backend)?.active ?? 0, load: 0 });
    // The connection itself detects a backend that does not answer. Meanwhile the gateway answers requests.
    const opening = this.#client.openBackend(backend).catch(() => undefined);
    this.#opening.add(opening);
    await opening;
    this.#opening.delete(opening);
  }
}
