import type { Target } from '../../http/exchange.js';
import { canonicalText } from '../../values/canonical.js';

/**
 * What the routes of one configuration lead to, by their options. Whatever a later configuration describes in the same way is
 * taken over as it is, so that its connections, health and broadcasts outlive a reload.
 */
export class Targets {
  readonly #before: ReadonlyMap<string, Target>;
  readonly #targets = new Map<string, Target>();

  constructor(before?: Targets) {
    this.#before = before ? before.#targets : new Map();
  }

  /** Returns the target of this kind with these options, and opens it if there is none. `key` tells it from all others. */
  async take<Taken extends Target>(
    kind: string,
    options: unknown,
    open: (key: string) => Taken | Promise<Taken>,
  ): Promise<Taken> {
    const name = `${kind} ${canonicalText(options)}`;
    // Routes that say the same have a target each.
    let key = name;
    for (let nth = 1; this.#targets.has(key); nth++) key = `${name} ${nth}`;
    // Equal kinds have equal types.
    const target = (this.#before.get(key) as Taken | undefined) ?? (await open(key));
    this.#targets.set(key, target);
    return target;
  }

  /** Starts those that were not taken over. Resolves with their warnings. */
  async start(): Promise<string[]> {
    const warnings = await Promise.all(this.#added().map(async (target) => (await target.start?.()) ?? []));
    return warnings.flat();
  }

  /** Closes those that were not taken over, as they are not needed after all. */
  async abandon(): Promise<void> {
    await Promise.all(this.#added().map(async (target) => target.close?.()));
  }

  /** Returns those that the later configuration has not taken over. */
  missingFrom(later: Targets): Target[] {
    const kept = new Set(later.#targets.values());
    return [...this.#targets.values()].filter((target) => !kept.has(target));
  }

  async close(): Promise<void> {
    for (const target of [...this.#targets.values()].reverse()) await target.close?.();
  }

  #added(): Target[] {
    const before = new Set(this.#before.values());
    return [...this.#targets.values()].filter((target) => !before.has(target));
  }
}
