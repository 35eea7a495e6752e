import { EventEmitter } from 'node:events';
import { EventKind, type NativeEndpoint, type NativeEvent } from './addon.js';
import type {
  ChannelCounts,
  ChannelState,
  LeaveReason,
  ReceivedGroup,
  WatchedChannel,
  WatchedChannelEvents,
  WatchOptions,
} from './channel_types.js';
import { headBody } from './engine_body.js';
import { IncomingBody, type StreamLocation } from './http3_body.js';
import { QuicError } from './quic_error.js';
import type { Http3Client } from './types.js';

/** `quic::ListenState` */
const states = ['want', 'joined', 'receiving', 'unicast', 'left'] as const satisfies ChannelState[];
/** `quic::LeaveReason` */
const reasons = [
  'wish',
  'address',
  'packetSize',
  'rate',
  'reach',
  'scheme',
  'channels',
  'forgedPackets',
  'malformed',
  'withdrawn',
] as const satisfies LeaveReason[];
/** `quic::GroupEvent::Kind` */
const groupEvents = { readable: 0, ended: 1, reset: 2, expired: 3 } as const;

/** Most bytes that one read takes */
const readSize = 64 * 1024;

/** The channels that each endpoint receives, by their streams. A client's endpoint has one connection. */
const channels = new WeakMap<NativeEndpoint, Map<number, Channel>>();

/** Resolves behind the next turn of the engine, which comes before the loop sleeps: after the first, and before the second. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

class Group implements ReceivedGroup {
  private ended = false;
  private failure: QuicError | undefined;
  private over = false;
  /** Nobody reads the group any more. */
  private isRead = false;
  private wake: (() => void) | undefined;

  constructor(
    readonly id: number,
    private readonly read: (into: Buffer) => number,
    private readonly onDone: () => void,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* this.parts();
    } finally {
      this.isRead = true;
      if (this.over) this.onDone();
    }
  }

  private async *parts(): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const part = this.next();
      if (part) {
        yield part;
        continue;
      }
      // What was read last may have been the end, which the engine says in its next turn.
      if (this.over) await nextTurn();
      if (this.ended) return;
      if (this.failure) throw this.failure;
      if (this.over) throw new QuicError('CHANNEL_CLOSED', 'the channel is over');
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  onEvent(kind: number, error: number): void {
    if (kind !== groupEvents.readable) this.onDone();
    if (kind === groupEvents.ended) this.ended = true;
    if (kind === groupEvents.reset) this.failure = new QuicError('GROUP_RESET', 'the source reset the group', error);
    if (kind === groupEvents.expired)
      this.failure = new QuicError('GROUP_EXPIRED', 'a part of the group did not come in time');
    this.wake?.();
  }

  onOver(): void {
    this.over = true;
    this.wake?.();
    if (this.isRead) this.onDone();
  }

  private next(): Buffer | undefined {
    if (this.ended || this.failure) return undefined;
    const into = Buffer.allocUnsafe(readSize);
    const size = this.read(into);
    return size > 0 ? into.subarray(0, size) : undefined;
  }
}

class Channel
  extends EventEmitter<{ [K in keyof WatchedChannelEvents]: WatchedChannelEvents[K] }>
  implements WatchedChannel
{
  state: ChannelState = 'want';
  joinDelayMs: number | undefined;
  private readonly groups = new Map<number, Group>();
  private last: ChannelCounts | undefined;
  private over = false;

  constructor(
    private readonly location: StreamLocation,
    private readonly started: number,
    private readonly onEnd: () => void,
  ) {
    super();
  }

  status(): ChannelCounts | undefined {
    const { endpoint, connection, stream } = this.location;
    this.last = endpoint.channelStatus(connection, stream) ?? this.last;
    return this.last;
  }

  leave(): void {
    const { endpoint, connection, stream } = this.location;
    if (!this.over) endpoint.leaveChannel(connection, stream);
  }

  onState(state: number, joinError: string): void {
    this.state = states[state] ?? 'left';
    if (this.state === 'receiving') this.joinDelayMs ??= performance.now() - this.started;
    this.emit('state', this.state, joinError);
  }

  onGroup(id: number, kind: number, error: number): void {
    const known = this.groups.get(id);
    if (known) return known.onEvent(kind, error);
    const { endpoint, connection, stream } = this.location;
    const group = new Group(
      id,
      (into) => endpoint.readChannelGroup(connection, stream, id, into),
      () => this.onGroupDone(id),
    );
    this.groups.set(id, group);
    group.onEvent(kind, error);
    this.emit('group', group);
  }

  onOver(reason: LeaveReason | undefined): void {
    if (this.over) return;
    this.status();
    this.over = true;
    this.onEnd();
    for (const group of this.groups.values()) group.onOver();
    this.forgetOnceRead();
    this.emit('close', reason);
  }

  private onGroupDone(id: number): void {
    this.groups.delete(id);
    this.forgetOnceRead();
  }

  /** Frees the engine's side of a channel that is over, and whose groups were read. It is harmless to do that again. */
  private forgetOnceRead(): void {
    if (!this.over || this.groups.size > 0) return;
    const { endpoint, connection, stream } = this.location;
    endpoint.forgetChannel(connection, stream);
    channels.get(endpoint)?.delete(stream);
  }
}

export function isChannelEvent(kind: EventKind): boolean {
  return kind >= EventKind.channelState && kind <= EventKind.channelOver;
}

export function onChannelEvent(endpoint: NativeEndpoint, event: NativeEvent): void {
  const channel = channels.get(endpoint)?.get(event[2] as number);
  if (!channel) return;
  if (event[0] === EventKind.channelState) return channel.onState(event[3] as number, event[4] as string);
  if (event[0] === EventKind.channelOver) return channel.onOver(reasons[event[4] as number]);
  channel.onGroup(event[3] as number, event[4] as number, event[5] as number);
}

/** Tells the channels of an endpoint that their connection is gone. */
export function onChannelsLost(endpoint: NativeEndpoint): void {
  for (const channel of channels.get(endpoint)?.values() ?? []) channel.onOver(undefined);
}

/**
 * Joins a channel. Resolves once the server has accepted; what comes is told by events from the next turn on.
 * @throws QuicError `CHANNEL_REFUSED` with the response's status as `errorCode`
 */
export async function watchChannel(
  client: Http3Client,
  { path, authority, headers, joins = true, sources = [], interface: name = '' }: WatchOptions,
): Promise<WatchedChannel> {
  const started = performance.now();
  const { body, end } = headBody();
  const response = await client.request({
    method: 'CONNECT',
    protocol: 'sheaf-channel',
    path,
    ...(authority !== undefined && { authority }),
    headers: { ...headers, 'capsule-protocol': '?1' },
    body,
  });
  if (response.status !== 200 || !(response instanceof IncomingBody)) {
    end();
    response.destroy();
    throw new QuicError('CHANNEL_REFUSED', `the server answered with status ${response.status}`, response.status);
  }
  const { location } = response;
  const { endpoint, connection, stream } = location;
  const channel = new Channel(location, started, end);
  const known = channels.get(endpoint) ?? new Map<number, Channel>();
  channels.set(endpoint, known.set(stream, channel));
  try {
    if (endpoint.watchChannel(connection, stream, { joins, sources, interface: name })) return channel;
    throw new QuicError('CHANNEL_REFUSED', 'this connection has as many channels as it may');
  } catch (error) {
    // The interface may not exist, for example.
    end();
    known.delete(stream);
    response.destroy();
    throw error;
  }
}
