import { createLinkRelay, type LinkOptions, type LinkRelay } from '@sheaf/native';
import { vi } from 'vitest';

/** A link to a port of this machine, with an address of its own until it is closed. */
export class ClientLink {
  readonly port: number;
  readonly #target: number;
  readonly #options: LinkOptions;
  #relay: LinkRelay;

  constructor(target: number, options: LinkOptions) {
    this.#target = target;
    this.#options = options;
    this.#relay = this.#create(0);
    this.port = this.#relay.listen().port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  cut(cut: boolean): void {
    this.#relay.setDown(cut);
  }

  close(): void {
    this.#relay.close();
  }

  /**
   * From now on the other side sees everybody behind it come from another port, as with a network address translator that
   * begins anew; what was in flight is lost.
   */
  async rebind(): Promise<void> {
    this.#relay.close();
    // The port is free again once the event loop has closed the socket.
    await vi.waitFor(
      () => {
        const relay = this.#create(this.port);
        try {
          relay.listen();
        } catch (error) {
          relay.close();
          throw error;
        }
        this.#relay = relay;
      },
      { timeout: 30_000, interval: 1 },
    );
  }

  #create(port: number): LinkRelay {
    return createLinkRelay({
      listen: { address: '127.0.0.1', port },
      target: { address: '127.0.0.1', port: this.#target },
      there: this.#options,
      back: this.#options,
    });
  }
}
