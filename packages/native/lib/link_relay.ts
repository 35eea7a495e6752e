import { addon, type NativeLinkOptions, type NativeLinkRelay } from './addon.js';
import { QuicError } from './quic_error.js';
import type { SocketAddress } from './address.js';

/**
 * One direction of a link, in the order in which a datagram meets it. Sizes and rates count UDP payload.
 * Probabilities and correlations lie between 0 and 1; what is left out does not happen.
 */
export interface LinkOptions {
  /** Maximum size of a datagram in bytes; larger ones are dropped. Default 65,535. */
  mtu?: number;
  /** Maximum number of bytes in the queue. Default 256 KiB. */
  queueBytes?: number;
  /** Maximum number of datagrams in the queue. Default unlimited. */
  queuePackets?: number;
  /** Rule that drops from the queue; `codel` is RFC 8289. Default `drop-tail`. */
  queueDiscipline?: 'drop-tail' | 'codel';
  /** Marks ECN-capable datagrams while more bytes than this wait. Default never. */
  markBytes?: number;
  /** Bits per second. Default unlimited. */
  rate?: number;
  /** Text of a capacity trace instead of a rate: each line is the millisecond of an opportunity to send 1500 bytes. The trace repeats. */
  trace?: string;
  /** Probability that a datagram is lost. */
  loss?: number;
  /** Correlation of a datagram's loss with that of the one before it. */
  lossCorrelation?: number;
  /** Loss in bursts (Gilbert–Elliott). */
  burstLoss?: {
    /** Share of all datagrams that is lost; below 0.99. */
    share: number;
    /** Average number of datagrams in a burst. */
    length: number;
  };
  /** Probability that a datagram arrives twice. */
  duplication?: number;
  /** Milliseconds from the queue to the other side. */
  delayMs?: number;
  /** Maximum of a random addition to `delayMs`, in milliseconds; datagrams keep their order. */
  jitterMs?: number;
  /** Correlation of a datagram's jitter with that of the one before it. */
  jitterCorrelation?: number;
  /** Probability that a datagram is held back by `reorderingDelayMs`, while later ones overtake it. */
  reordering?: number;
  /** Milliseconds that a reordered datagram is held back. */
  reorderingDelayMs?: number;
}

/** IP address and UDP port. */
export interface LinkAddress {
  /** IP address. */
  address: string;
  /** UDP port. */
  port: number;
}

/** Options of {@link createLinkRelay}. */
export interface LinkRelayOptions {
  /** IP address and port for clients; port 0 asks the system for a free one. */
  listen: LinkAddress;
  /** Address that clients' datagrams are sent to. */
  target: LinkAddress;
  /** Direction from clients to the target. */
  there?: LinkOptions;
  /** Direction from the target to clients. */
  back?: LinkOptions;
  /** The same seed draws the same random numbers. Default 1. */
  seed?: number;
}

/** Numbers of datagrams of one direction. `sent + duplicated` is the sum of the next six and of the datagrams in flight. */
export interface LinkStats {
  /** Datagrams that entered the link. */
  sent: number;
  /** Copies that the link made. */
  duplicated: number;
  /** Dropped because they exceeded `mtu`. */
  tooLarge: number;
  /** Dropped because the queue was full. */
  queueFull: number;
  /** Dropped by CoDel. */
  queueManaged: number;
  /** Lost because the link was down. */
  down: number;
  /** Lost at random. */
  lost: number;
  /** Datagrams that reached the other side. */
  delivered: number;
  /** Delivered datagrams that carry the mark of ECN. */
  marked: number;
  /** Bytes of UDP payload in delivered datagrams. */
  bytesDelivered: number;
}

/** Numbers of a relay since `listen()`. */
export interface LinkRelayStats {
  /** Direction from clients to the target. */
  there: LinkStats;
  /** Direction from the target to clients. */
  back: LinkStats;
  /** Clients that the relay serves; each address counts. */
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
  /** Binds the address and relays. @throws Error with the system's `code`, such as `EADDRINUSE` */
  listen(): SocketAddress;
  /** Replaces both directions' options from now on. @throws QuicError `LINK_OPTIONS` */
  setConfig(there: LinkOptions, back: LinkOptions): void;
  /** Takes the link down or up. A link that is down loses every datagram that has not left it. */
  setDown(down: boolean): void;
  /** Reads the numbers of the relay; a copy. */
  stats(): LinkRelayStats;
  /** Closes all sockets; datagrams in flight are lost. */
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

/** Turns an error of the native side, such as a faulty trace, into a QuicError. */
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
