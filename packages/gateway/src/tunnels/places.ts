import type { Counts } from '../values/counts.js';

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
  readonly #limits: PlaceLimits;
  readonly #counts: Counts;

  constructor(limits: PlaceLimits, counts: Counts) {
    this.#limits = limits;
    this.#counts = counts;
  }

  /** Takes a place, and returns the function that gives it back once; or why there is none. */
  take(user: string | undefined, address: string): (() => void) | NoPlace {
    const { tunnels, tunnels_per_user: ofUser, tunnels_per_address: ofAddress } = this.#limits;
    const claims = [
      { name: 'all', most: tunnels },
      { name: `address ${address}`, most: ofAddress },
      ...(user === undefined ? [] : [{ name: `user ${user}`, most: ofUser }]),
    ];
    const full = this.#counts.take(claims);
    if (full !== undefined) return full === 0 ? 503 : 429;
    let given = false;
    return () => {
      if (!given) this.#counts.give(claims.map(({ name }) => name));
      given = true;
    };
  }
}
