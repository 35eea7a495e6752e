import { EventKind, type NativeEndpoint, type NativeEvent } from './addon.js';
import { H3_NO_ERROR } from './http3_body.js';
import { nativeTunnelOptions, tunnelOver } from './tunnel.js';
import type { CarriedStream, OpenedTunnel, TunnelOptions, TunnelOver } from './tunnel_types.js';

/** Milliseconds that a client has to take the rest of a tunnel that is over */
const lingerMs = 10_000;

/** A tunnel whose stream is carried here: bytes of the stream go to the engine, and those of the engine to the stream. */
class CarriedTunnel {
  constructor(
    readonly endpoint: NativeEndpoint,
    readonly number: number,
    readonly stream: CarriedStream,
    readonly onOver: TunnelOptions['onOver'],
  ) {
    const { incoming, outgoing } = stream;
    // The engine never waits for its target, so there is nothing for which the client would have to wait.
    incoming.on('data', (bytes: Buffer) => endpoint.writeStreamTunnel(number, bytes));
    incoming.once('end', () => endpoint.finishStreamTunnel(number));
    outgoing.on('drain', () => endpoint.goOnStreamTunnel(number));
    for (const each of new Set([incoming, outgoing])) each.on('error', () => undefined);
    outgoing.once('close', () => endpoint.leaveStreamTunnel(number));
  }

  /** Sends to the client. The engine sends no more until this was taken. */
  take(bytes: Buffer): void {
    const { outgoing } = this.stream;
    if (outgoing.write(bytes)) this.endpoint.goOnStreamTunnel(this.number);
  }

  end(over: TunnelOver): void {
    const { incoming, outgoing, abort } = this.stream;
    incoming.removeAllListeners('data').resume();
    if (over.code === H3_NO_ERROR) {
      const timer = setTimeout(() => outgoing.destroy(), lingerMs).unref();
      outgoing.once('close', () => clearTimeout(timer)).end();
    } else if (!outgoing.destroyed) {
      abort(over);
    }
    this.onOver?.(over);
  }
}

/** The tunnels of an endpoint whose streams are of other versions of HTTP than 3 */
export class CarriedTunnels {
  readonly #endpoint: NativeEndpoint;
  readonly #tunnels = new Map<number, CarriedTunnel>();
  readonly #carriers = new WeakMap<object, number>();
  #lastCarrier = 0;

  constructor(endpoint: NativeEndpoint) {
    this.#endpoint = endpoint;
  }

  get open(): number {
    return this.#tunnels.size;
  }

  /** @throws Error with the system's `code` */
  carry(stream: CarriedStream, options: TunnelOptions): OpenedTunnel | undefined {
    if (stream.outgoing.destroyed) return undefined;
    const opened = this.#endpoint.openStreamTunnel(this.#numberOf(stream.carrier), nativeTunnelOptions(options));
    if (!opened) return undefined;
    const { number, ...localAddress } = opened;
    this.#tunnels.set(number, new CarriedTunnel(this.#endpoint, number, stream, options.onOver));
    return { localAddress };
  }

  /** Returns false for an event that belongs to no such tunnel. */
  onEvent(event: NativeEvent): boolean {
    const [kind] = event;
    if (kind !== EventKind.streamTunnelBytes && kind !== EventKind.streamTunnelOver) return false;
    const number = event[2] as number;
    const tunnel = this.#tunnels.get(number);
    if (kind === EventKind.streamTunnelBytes) {
      tunnel?.take(event[3] as Buffer);
    } else {
      this.#tunnels.delete(number);
      tunnel?.end(tunnelOver(event[3] as number, event[4] as number, event[5] as number[]));
    }
    return true;
  }

  #numberOf(carrier: object): number {
    const known = this.#carriers.get(carrier);
    if (known !== undefined) return known;
    this.#lastCarrier = (this.#lastCarrier + 1) % 2 ** 32;
    this.#carriers.set(carrier, this.#lastCarrier);
    return this.#lastCarrier;
  }
}
