/** Bounds of tunnels at one time */
export interface PlaceLimits {
  tunnels: number;
  tunnels_per_user: number;
  tunnels_per_address: number;
}

/** Why there is no place, with the status that says so */
export type NoPlace = 503 | 429;

/** Counts the tunnels of a route, also those that are being opened, by users and by addresses. */
export class Places {
  #taken = 0;
  readonly #byUser = new Map<string, number>();
  readonly #byAddress = new Map<string, number>();

  constructor(private readonly limits: PlaceLimits) {}

  get taken(): number {
    return this.#taken;
  }

  /** Takes a place, and returns the function that gives it back once; or why there is none. */
  take(user: string | undefined, address: string): (() => void) | NoPlace {
    if (this.#taken >= this.limits.tunnels) return 503;
    if (user !== undefined && (this.#byUser.get(user) ?? 0) >= this.limits.tunnels_per_user) return 429;
    if ((this.#byAddress.get(address) ?? 0) >= this.limits.tunnels_per_address) return 429;
    const change = (by: 1 | -1): void => {
      this.#taken += by;
      if (user !== undefined) add(this.#byUser, user, by);
      add(this.#byAddress, address, by);
    };
    change(1);
    let given = false;
    return () => {
      if (!given) change(-1);
      given = true;
    };
  }
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
