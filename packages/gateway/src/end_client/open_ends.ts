import type { Http3Client } from '@sheaf/native';

/** One end as this client knows it. */
interface KnownEnd {
  state: 'offered' | 'open' | 'withdrawn';
  /** Requests under way. */
  active: number;
  /** As it said with its latest answer: the share of the time in which it was busy. */
  load: number;
}

/** Round-trip times are looked at this often at most. */
const freshMs = 100;
/** No round-trip time is so short that the load would not count. */
const leastRttMs = 0.5;
/** Nobody is busier than this, or two busy ends could not be told apart by their distance. */
const greatestLoad = 0.95;

/** The ends of one connection: opens those that are offered, and knows which of several answers soonest. */
export class OpenEnds {
  readonly #client: Http3Client;
  readonly #ends = new Map<number, KnownEnd>();
  #roundTrips = new Map<number, number>();
  #lookedAt = -freshMs;
  readonly #opening = new Set<Promise<unknown>>();

  constructor(client: Http3Client) {
    this.#client = client;
    client.on('endOffered', ({ end }) => void this.#open(end));
    client.on('endPathOpen', ({ end }) => this.#set(end, 'open'));
    client.on('endWithdrawn', ({ end }) => this.#set(end, 'withdrawn'));
    client.on('endLost', ({ end }) => this.#ends.delete(end));
    // Offers may have come before anybody listened.
    for (const { end, state } of client.status().ends ?? []) if (state === 'offered') void this.#open(end);
  }

  get any(): boolean {
    return this.#ends.size > 0;
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
    const usable = candidates.filter((end) => this.#ends.get(end)?.state === 'open' && !excluded.has(end));
    if (usable.length < 2) return usable[0];
    this.#look();
    const ranked = usable.map((end) => ({ end, cost: this.#cost(end) })).sort((left, right) => left.cost - right.cost);
    return ranked[0]?.end;
  }

  started(end: number): void {
    const known = this.#ends.get(end);
    if (known) known.active += 1;
  }

  ended(end: number): void {
    const known = this.#ends.get(end);
    // Those of an earlier path to an end that was lost end late.
    if (known) known.active = Math.max(0, known.active - 1);
  }

  setLoad(end: number, header: string): void {
    const known = this.#ends.get(end);
    const load = Number(header);
    if (known && load >= 0 && load <= 1) known.load = load;
  }

  #cost(end: number): number {
    const { active, load } = this.#ends.get(end)!;
    const rtt = Math.max(leastRttMs, this.#roundTrips.get(end) ?? 0);
    return (rtt * (1 + active)) / (1 - Math.min(load, greatestLoad));
  }

  #look(): void {
    const now = performance.now();
    if (now - this.#lookedAt < freshMs) return;
    this.#lookedAt = now;
    this.#roundTrips = new Map(this.#client.status().ends.map(({ end, smoothedRttMs }) => [end, smoothedRttMs]));
  }

  #set(end: number, state: KnownEnd['state']): void {
    const known = this.#ends.get(end);
    this.#ends.set(end, { active: 0, load: 0, ...known, state });
  }

  /** Ahead of the first request, so that it goes there without a round trip before it. */
  async #open(end: number): Promise<void> {
    this.#ends.set(end, { state: 'offered', active: this.#ends.get(end)?.active ?? 0, load: 0 });
    // One that does not answer is lost by the connection's own rules; the gateway is there meanwhile.
    const opening = this.#client.openEnd(end).catch(() => undefined);
    this.#opening.add(opening);
    await opening;
    this.#opening.delete(opening);
  }
}
