import { canonicalText } from '../../values/canonical.js';
import type { ListenAddresses } from '../../values/scalars.js';
import type { Prepared } from './reload.js';

/**
 * Where a node listens for one purpose, or does not. A listener stays for as long as configurations name its address; one at
 * another address is open before the one before it drains.
 */
export class Place<Listener> {
  readonly #end: (listener: Listener, drainMs: number) => Promise<void>;
  #current: Listener | undefined;
  /** The address of `current` as the configuration names it */
  #address: ListenAddresses | undefined;
  /** Listeners that drain */
  readonly #leaving = new Set<Listener>();

  /** `end` makes a listener refuse connections, and waits up to `drainMs` for what it does. */
  constructor(end: (listener: Listener, drainMs: number) => Promise<void>) {
    this.#end = end;
  }

  get current(): Listener | undefined {
    return this.#current;
  }

  /** The listener in use first, and those that drain */
  get all(): Listener[] {
    return [...(this.#current === undefined ? [] : [this.#current]), ...this.#leaving];
  }

  /** Opens a listener if the address differs from the one in use. Without an address there is none after `commit`. */
  async prepare<Address extends ListenAddresses>(
    address: Address | undefined,
    open: (address: Address) => Promise<Listener>,
    drainMs: number,
  ): Promise<Prepared> {
    if (canonicalText(address) === canonicalText(this.#address))
      return { warnings: [], commit: () => undefined, abandon: () => Promise.resolve() };
    const opened = address && (await open(address));
    return {
      warnings: [],
      commit: () => {
        const before = this.#current;
        this.#current = opened;
        this.#address = address;
        if (before !== undefined) this.#leave(before, drainMs);
      },
      abandon: async () => {
        if (opened !== undefined) await this.#end(opened, 0);
      },
    };
  }

  async close(drainMs: number): Promise<void> {
    await Promise.all(this.all.map((listener) => this.#end(listener, drainMs)));
  }

  #leave(listener: Listener, drainMs: number): void {
    this.#leaving.add(listener);
    void this.#end(listener, drainMs).finally(() => this.#leaving.delete(listener));
  }
}
