const minuteMs = 60_000;
/** Clients of which attempts are remembered */
const defaultClients = 10_000;

/** Bounds how often each client may do something in a minute, which begins with its first attempt. */
export class AttemptLimit {
  readonly #attempts = new Map<string, { count: number; since: number }>();

  constructor(
    private readonly most: number,
    private readonly clients = defaultClients,
  ) {}

  /** Whether this client may try, at a time in milliseconds. */
  permits(client: string, now: number): boolean {
    const found = this.#attempts.get(client);
    return !found || now - found.since >= minuteMs || found.count < this.most;
  }

  note(client: string, now: number): void {
    const found = this.#attempts.get(client);
    const current = found && now - found.since < minuteMs;
    this.#attempts.delete(client);
    this.#attempts.set(client, current ? { ...found, count: found.count + 1 } : { count: 1, since: now });
    // The client that tried last stays; the one that tried longest ago is forgotten.
    const [first] = this.#attempts.keys();
    if (this.#attempts.size > this.clients && first !== undefined) this.#attempts.delete(first);
  }
}
