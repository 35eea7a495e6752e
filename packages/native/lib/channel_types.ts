import type { EventEmitter } from 'node:events';
import type { SocketAddress } from './address.js';
import type { RequestHeaders } from './header_types.js';
import type { ServerRequest, ServerResponse } from './http3_types.js';

/** Multicast group of one source, and its port. */
export interface ChannelGroupAddress {
  /** IP address */
  address: string;
  /** From 1024 on */
  port: number;
}

/** Options of a channel's source. */
export interface ChannelSourceOptions {
  /** Group of one source (232.0.0.0/8 or ff3x::/32) and its port. Default none: receivers get copies by unicast alone. */
  group?: ChannelGroupAddress;
  /** Address of this host from which packets to the group come; with `relay`, of the relay. */
  source?: string;
  /**
   * Where packets to the group go instead, by unicast: to a program that sends each of them on to the group from `source`. Default
   * none: this host sends to the group itself.
   */
  relay?: ChannelGroupAddress;
  /** Interface through which they leave. Default the one that has the source's address. */
  interface?: string;
  /** Routers that packets to the group may pass, plus one. Default 1: they stay on the link. */
  hops?: number;
  /** Most bytes of a packet, 1200 to 1452. Default 1300. */
  packetSize?: number;
  /** Most bytes per second. Default 1,250,000. */
  rate?: number;
  /**
   * Bytes per second below `rate`. With it, the rate to the group follows the worst receiver, as TCP would (RFC 4654). Receivers to
   * which TCP would send less get copies instead. Default none: the rate never changes.
   */
  slowestRate?: number;
  /** Most bytes per second for copies by unicast, to all receivers together. Default ten times `rate`. */
  copyRate?: number;
  /** Packets that are kept for copies, 64 to 16,384. Default those of a second, at least 8192. */
  reach?: number;
  /** Milliseconds after which a packet is worth nothing. Default 2000. */
  deadlineMs?: number;
  /** Milliseconds between reports of a receiver, at least 10. Default an eighth of the deadline, the time of 512 packets, or 200, whichever is least. */
  reportIntervalMs?: number;
  /** Milliseconds for which a key serves. Default 10,000. */
  keyIntervalMs?: number;
  /** Whether a new key follows soon when a receiver leaves, so that it reads nothing more. Default false. */
  keyOnLeaving?: boolean;
  /** Default 1000. */
  maxReceivers?: number;
  /**
   * How receivers know that packets are the source's. `signed`: by Ed25519 signatures over many packets. `timed`: by tags whose
   * keys are disclosed later, which excludes repairs and costs less; a receiver asks for the source's time, and `reach` has to be 150 ms
   * of `rate`. `per-packet`: by a
   * signature behind each packet, which excludes repairs and costs some 100 times as much. `none`: every receiver can forge packets for the
   * others. Default `signed` with a group, and `none` without.
   */
  authentication?: 'signed' | 'timed' | 'per-packet' | 'none';
  /** Private Ed25519 key (RFC 8032 §5.1.5) of 32 bytes, which are wiped. Default a new one. */
  seed?: Uint8Array;
  /** Whether the group brings repairs of lost packets, too. Default true, with a group. */
  repairs?: boolean;
  /** Name by which other threads of this process find the channel (`sharedChannel`). The latest source of a name counts. Default none. */
  sharedAs?: string;
}

/** What a channel's source did since its begin. */
export interface ChannelSourceStatus {
  /** Where packets to the group come from; absent without a group */
  source?: SocketAddress;
  /** Absent without a group */
  group?: SocketAddress;
  /** Requests that join the channel now */
  receivers: number;
  /** Receivers that hear the group */
  receiving: number;
  /** Bytes per second that the group gets at most, now */
  rate: number;
  /** Receivers that get copies of all packets although they hear the group, since they lose much of it, or lost it too often */
  heldOnCopies: number;
  /** Receivers that lost the group, and wait until copies of all packets fit into their rate */
  waitingForCopies: number;
  /** Networks that joined and left too often, and should not join now */
  networksHeldDown: number;
  /** Whether packets go to the group now: it has members, and one of them hears it, or the source tries */
  feedsGroup: boolean;
  /** How often the source has paused, since none of several members heard the group */
  groupPauses: number;
  /** Packets of the channel */
  packets: number;
  /** Packets with repairs */
  repairs: number;
  /** Copies by unicast */
  copies: number;
  /** Copies that were lost on the way */
  copiesLost: number;
  /** Reports that were too old, came too soon, or named packets that do not exist */
  refusedReports: number;
  /** Proofs that were not sent, so that copies had to bring their packets */
  droppedProofs: number;
  /** Packets to the group that the system did not take */
  unsent: number;
  /** Packets from the group, of all receivers together, as they reported */
  received: number;
  /** Packets that the group did not bring them in time */
  lost: number;
  /** Lost packets that repairs brought */
  recovered: number;
  /** Lost packets that nothing brought in time */
  expired: number;
  /** Receivers that have heard the group */
  joins: number;
  /** Seconds from each one's begin to that moment, added up */
  joinSeconds: number;
}

/** A group of objects that is being written. */
export interface ChannelGroupWriter {
  /** Number of the group; later groups have higher ones. */
  readonly id: number;
  /** Resolves once all bytes are taken. @throws RangeError for a group above 32 MiB, QuicError `CHANNEL_CLOSED`, `GROUP_ENDED` */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves once the end is taken. @throws QuicError `CHANNEL_CLOSED`, `GROUP_ENDED` */
  end(): Promise<void>;
  /**
   * Ends the group early: receivers get `GROUP_RESET` with this code, 0 by default. Resolves once this is taken.
   * @throws QuicError `CHANNEL_CLOSED`, `GROUP_ENDED`
   */
  reset(errorCode?: number): Promise<void>;
}

/** A multicast channel that clients of this thread can join. */
export interface JoinableChannel {
  /**
   * Lets the client of a request join the channel: an extended CONNECT with the protocol `sheaf-channel`. The request goes on until
   * a side ends it; `close` of the response tells. Returns false, and answers nothing, when the connection has as many channels as
   * it may.
   */
  serve(request: ServerRequest, response: ServerResponse): boolean;
  /**
   * Returns for how many milliseconds clients of this address should not join, since its network joined and left again and again; 0
   * otherwise. `serve` serves them anyway.
   */
  heldDownMs(address: string): number;
}

/** A multicast channel that this process is the source of. */
export interface ChannelSource extends JoinableChannel {
  /** Begins a group, at which receivers that come later begin, too. @throws QuicError `TOO_MANY_GROUPS`, `CHANNEL_CLOSED` */
  openGroup(): ChannelGroupWriter;
  /** Reads the source's counts; a copy. */
  status(): ChannelSourceStatus;
  /** Withdraws the channel from all receivers. */
  close(): void;
}

/**
 * Where a receiver listens: `want` copies by unicast; `joined` the group, and gets copies until it has heard it; `receiving` from the
 * group; `unicast` since the group fell silent; `left`.
 */
export type ChannelState = 'want' | 'joined' | 'receiving' | 'unicast' | 'left';

/** Why a receiver has left, in the order of the numbers in docs/reference/wire.md#channels. */
export type LeaveReason =
  | 'wish'
  | 'address'
  | 'packetSize'
  | 'rate'
  | 'reach'
  | 'scheme'
  | 'channels'
  | 'forgedPackets'
  | 'malformed'
  | 'withdrawn';

/** Packets of a channel that came, since the source's offer. */
export interface ChannelCounts {
  /** Different packets that the group brought first */
  fromGroup: number;
  /** Different packets that copies brought first */
  fromUnicast: number;
  /** Different packets that repairs brought first */
  recovered: number;
  /** Packets that had come already */
  duplicates: number;
  /** Too late to be of use */
  late: number;
  /** Numbers that were missing at some time */
  lost: number;
  /** Missing numbers that did not come in time */
  expired: number;
  /** Not of this channel, or under a key that is not here */
  unreadable: number;
  /** Not the source's */
  forged: number;
  /** Without room, or too late to be proven */
  refused: number;
  /** How often the group was left for a while, since what came from it was not the source's */
  pauses: number;
  /** Packets with repairs, or with their status */
  repairs: number;
  /** Packets with frames that no source sends */
  malformed: number;
  /** Frames for which there was no room */
  overLimits: number;
}

/** A group of objects as it arrives: its bytes in order. Fails with QuicError `GROUP_RESET`, `GROUP_EXPIRED` or `CHANNEL_CLOSED`. */
export interface ReceivedGroup extends AsyncIterable<Buffer> {
  /** Number of the group; later groups have higher ones. */
  readonly id: number;
}

/** Options of {@link watchChannel}. */
export interface WatchOptions {
  /** Path of the route that serves the channel. */
  path: string;
  /** Host and port to ask for. Default: those that the client connected to. */
  authority?: string;
  /** Fields of the request. */
  headers?: RequestHeaders;
  /** Whether to join the group. Default true; otherwise copies by unicast alone. */
  joins?: boolean;
  /** Addresses of sources whose groups may be joined, beside the server's own. */
  sources?: string[];
  /** Interface on which to join. Default the one that leads to the source. */
  interface?: string;
}

/** Events of a {@link WatchedChannel}. */
export interface WatchedChannelEvents {
  /** A group begins. */
  group: [group: ReceivedGroup];
  /** Another state. `joinError` says why the group could not be joined; empty when it was, or there is none. */
  state: [state: ChannelState, joinError: string];
  /** The channel is over: why this side left, or undefined when the source or the connection ended it. */
  close: [reason: LeaveReason | undefined];
}

/** A multicast channel that this process receives. */
export interface WatchedChannel extends EventEmitter<{ [K in keyof WatchedChannelEvents]: WatchedChannelEvents[K] }> {
  /** Where this side listens now. */
  readonly state: ChannelState;
  /** Milliseconds from the request to the first packet of the group that was the source's; undefined before */
  readonly joinDelayMs: number | undefined;
  /** Reads the counts; a copy, and the last one after the channel is over. Undefined before the source's offer. */
  status(): ChannelCounts | undefined;
  /** Leaves the channel; `close` follows. */
  leave(): void;
}
