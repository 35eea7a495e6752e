import type { CountClaim, SharedCounts } from '@sheaf/native';
import type { TokenBucket } from 'limiter';
import { fullBucket } from './token_bucket.js';

/** Counts of what is limited, by name: of this thread alone, or those that all workers of a node have together */
export type Counts = SharedCounts;

/** Counts of one thread */
export class OwnCounts implements Counts {
  readonly #counts = new Map<string, number>();
  readonly #turns = new Map<string, TokenBucket>();

  take(claims: readonly CountClaim[]): number | undefined {
    const full = claims.findIndex(({ name, most }) => this.#of(name) >= most);
    if (full >= 0) return full;
    for (const { name } of claims) this.#counts.set(name, this.#of(name) + 1);
    return undefined;
  }

  give(names: readonly string[]): void {
    for (const name of names) {
      const left = this.#of(name) - 1;
      if (left > 0) this.#counts.set(name, left);
      else this.#counts.delete(name);
    }
  }

  takeTurn(name: string, perSecond: number): boolean {
    const turns = this.#turns.get(name) ?? fullBucket(perSecond, perSecond);
    this.#turns.set(name, turns);
    return turns.tryRemoveTokens(1);
  }

  #of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }
}
