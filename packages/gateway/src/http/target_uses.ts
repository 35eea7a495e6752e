import type { Target } from './exchange.js';

/** Counts the exchanges at targets that hold something, so that these are closed only when nobody needs them. */
export class TargetUses {
  readonly #counts = new Map<Target, number>();
  readonly #waiting = new Map<Target, () => void>();

  enter(target: Target): void {
    if (target.close) this.#counts.set(target, (this.#counts.get(target) ?? 0) + 1);
  }

  leave(target: Target): void {
    if (!target.close) return;
    const left = (this.#counts.get(target) ?? 1) - 1;
    if (left > 0) {
      this.#counts.set(target, left);
      return;
    }
    this.#counts.delete(target);
    const unused = this.#waiting.get(target);
    this.#waiting.delete(target);
    unused?.();
  }

  /** Calls `unused` once no exchange is at the target. None may come to it any more. */
  whenUnused(target: Target, unused: () => void): void {
    if (this.#counts.has(target)) this.#waiting.set(target, unused);
    else unused();
  }
}
