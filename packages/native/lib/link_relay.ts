import { addon, type NativeLinkOptions, type NativeLinkRelay } from './addon.js';
import { QuicError } from './quic_error.js';
import type { SocketAddress } from './address.js';

/**
 * One direction of a link, in the order in which a datagram meets it. Sizes and rates count UDP payload.
 * Probabilities and correlations lie between 0 and 1; what is left out does not happen.
 */
export interface LinkOptions {
  /** Bytes; larger datagrams are dropped. */
  mtu?: number;
  /** Limit of what waits; default 256 KiB. */
  queueBytes?: number;
  queuePackets?: number;
  /** `codel` is RFC 8289. */
  queueDiscipline?: 'drop-tail' | 'codel';
  /** ECN-capable datagrams are marked while more bytes wait. */
  markBytes?: number;
  /** Bits per second; default no limit. */
  rate?: number;
  /** Text of a capacity trace instead: one line per opportunity to send 1500 bytes, which names its millisecond; repeats. */
  trace?: string;
  loss?: number;
  /** With the fate of the datagram before. */
  lossCorrelation?: number;
  /** Share of all datagrams that is lost in bursts of `length` datagrams on average (Gilbert–Elliott); below 0.99. */
  burstLoss?: { share: number; length: number };
  duplication?: number;
  delayMs?: number;
  /** Uniform addition up to this; keeps the order. */
  jitterMs?: number;
  /** With the jitter of the datagram before. */
  jitterCorrelation?: number;
  /** Probability of being held back by `reorderingDelayMs`, while later ones overtake. */
  reordering?: number;
  reorderingDelayMs?: number;
}

export interface LinkRelayOptions {
  /** IP address and port for clients; port 0 asks the system for a free one. */
  listen: { address: string; port: number };
  target: { address: string; port: number };
  /** From clients to the target. */
  there?: LinkOptions;
  back?: LinkOptions;
  /** The same seed draws the same random numbers. Default 1. */
  seed?: number;
}

/** Datagrams of one direction. `sent + duplicated` is the sum of the next six and of what is in flight. */
export interface LinkStats {
  sent: number;
  duplicated: number;
  tooLarge: number;
  queueFull: number;
  /** Dropped by CoDel. */
  queueManaged: number;
  /** Lost because the link was down. */
  down: number;
  lost: number;
  delivered: number;
  marked: number;
  bytesDelivered: number;
}

export interface LinkRelayStats {
  there: LinkStats;
  back: LinkStats;
  clients: number;
  /** Datagrams of clients beyond the 64 that a relay serves. */
  refused: number;
  /** Datagrams beyond the 64 MiB that each direction may hold. */
  overflow: number;
  /** Datagrams whose socket was full, or whose client had gone. */
  unsent: number;
}

/** A UDP relay that behaves like a network link. Nothing is bound before `listen()`. */
export interface LinkRelay {
  /** @throws Error with the system's `code`, such as `EADDRINUSE` */
  listen(): SocketAddress;
  /** From now on. @throws QuicError `LINK_OPTIONS` */
  setConfig(there: LinkOptions, back: LinkOptions): void;
  /** A link that is down loses everything but what has left it. */
  setDown(down: boolean): void;
  stats(): LinkRelayStats;
  close(): void;
}

function nativeOptions(options: LinkOptions, down: boolean): NativeLinkOptions {
  const { burstLoss, ...others } = options;
  const complete = {
    mtu: 65_535,
    queueBytes: 256 * 1024,
    queuePackets: 1e15,
    queueDiscipline: 'drop-tail',
    markBytes: 1e15,
    rate: 0,
    trace: '',
    loss: 0,
    lossCorrelation: 0,
    burstLoss: burstLoss?.share ?? 0,
    burstLength: burstLoss?.length ?? 1,
    duplication: 0,
    delayMs: 0,
    jitterMs: 0,
    jitterCorrelation: 0,
    reordering: 0,
    reorderingDelayMs: 0,
    ...others,
    down,
  };
  for (const [name, value] of Object.entries(complete)) {
    if (typeof value === 'number' && !(value >= 0))
      throw new QuicError('LINK_OPTIONS', `${name} of a link is ${value}, not a number from 0`);
  }
  return complete;
}

/** The trace is what the native side may find fault with. */
function explain<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof QuicError
      ? error
      : new QuicError('LINK_OPTIONS', error instanceof Error ? error.message : String(error));
  }
}

class Relay implements LinkRelay {
  private readonly relay: NativeLinkRelay;
  private down = false;

  constructor({ listen, target, there = {}, back = {}, seed = 1 }: LinkRelayOptions) {
    this.relay = explain(
      () => new (addon().LinkRelay)(listen, target, nativeOptions(there, false), nativeOptions(back, false), seed),
    );
  }
  listen(): SocketAddress {
    return this.relay.bind();
  }
  setConfig(there: LinkOptions, back: LinkOptions): void {
    explain(() => this.relay.setConfig(nativeOptions(there, this.down), nativeOptions(back, this.down)));
  }
  setDown(down: boolean): void {
    this.down = down;
    this.relay.setDown(down);
  }
  stats(): LinkRelayStats {
    return this.relay.stats() as LinkRelayStats;
  }
  close(): void {
    this.relay.close();
  }
}

/** @throws QuicError `LINK_OPTIONS` with the line of a faulty trace */
export function createLinkRelay(options: LinkRelayOptions): LinkRelay {
  return new Relay(options);
}
