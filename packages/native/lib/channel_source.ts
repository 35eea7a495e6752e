import { addon, type NativeChannelSource } from './addon.js';
import type {
  ChannelGroupWriter,
  ChannelSource,
  ChannelSourceOptions,
  ChannelSourceStatus,
  JoinableChannel,
} from './channel_types.js';
import { IncomingBody } from './http3_body.js';
import { QuicError } from './quic_error.js';
import { Http3ServerResponse } from './server_response.js';
import type { ServerRequest, ServerResponse } from './types.js';

/** `GroupStreams::k_max_group` in src/channel/group_streams.h */
const maxGroup = 32 * 1024 * 1024;

/** Packets of a report interval, at most: what receivers then lose of them is few enough to be repaired at once */
const intervalPackets = 512;
/** Bounds of a report interval, in milliseconds */
const interval = { shortest: 10, longest: 200, ofDeadline: 8 };
/** Packets that the log has, at least and at most (`ChannelLimits` in src/channel/offer_check.h) */
const reaches = { least: 8192, most: 16_384 };

/** Returns how often receivers report what they miss. A fast channel hears of it before much more has been lost. */
function reportInterval(rate: number, packetSize: number, deadlineMs: number): number {
  const bound = Math.min(
    interval.longest,
    deadlineMs / interval.ofDeadline,
    (1000 * intervalPackets * packetSize) / rate,
  );
  return Math.max(interval.shortest, Math.floor(bound));
}

/** Returns how many packets the log has: a second of them, as far as receivers permit. */
const reach = (rate: number, packetSize: number): number =>
  Math.min(Math.max(Math.ceil(rate / packetSize), reaches.least), reaches.most);

/** Milliseconds of the log with `timed`, at least: ten of the shortest intervals (src/channel_authentication/timed_schedule.h) */
const timedLog = 150;

/** @throws RangeError for a log in which packets would be overwritten before receivers can have proven them */
function assertProvable(reach: number, rate: number, packetSize: number): void {
  const least = Math.ceil((rate * timedLog) / (1000 * packetSize));
  if (reach < least)
    throw new RangeError(
      `with \`timed\`, this rate needs a \`reach\` of ${least} packets at least, or write a lower \`rate\``,
    );
}

/** Lets a client join a channel, which may have been closed. */
function serveFrom(source: NativeChannelSource | string, request: ServerRequest, response: ServerResponse): boolean {
  if (!(request instanceof IncomingBody) || !(response instanceof Http3ServerResponse))
    throw new TypeError('this is no request of HTTP/3');
  const { endpoint, connection, stream } = request.location;
  // RFC 9297 §3.4
  response.writeHead(200, { 'capsule-protocol': '?1' });
  response.leaveToEngine();
  return endpoint.serveChannel(connection, stream, source, request.remoteAddress.address);
}

class Source implements ChannelSource {
  private readonly native: NativeChannelSource;
  private waiting: (() => void)[] = [];
  private closed = false;

  constructor(options: ChannelSourceOptions) {
    const { rate = 1_250_000, packetSize = 1300, deadlineMs = 2000 } = options;
    const kept = options.reach ?? reach(rate, packetSize);
    if (options.authentication === 'timed') assertProvable(kept, rate, packetSize);
    this.native = new (addon().ChannelSource)(
      {
        group: options.group,
        source: options.source ?? '',
        relay: options.relay,
        interface: options.interface ?? '',
        hops: options.hops ?? 1,
        packetSize,
        rate,
        slowestRate: options.slowestRate ?? 0,
        copyRate: options.copyRate ?? 10 * rate,
        reach: kept,
        deadlineMs,
        reportIntervalMs: options.reportIntervalMs ?? reportInterval(rate, packetSize, deadlineMs),
        keyIntervalMs: options.keyIntervalMs ?? 10_000,
        keyOnLeaving: options.keyOnLeaving ?? false,
        maxReceivers: options.maxReceivers ?? 1000,
        authentication: options.authentication ?? (options.group ? 'signed' : 'none'),
        seed: options.seed,
        repairs: options.repairs ?? true,
        sharedAs: options.sharedAs ?? '',
      },
      () => this.onRoom(),
    );
  }

  openGroup(): ChannelGroupWriter {
    this.assertOpen();
    const id = this.native.openGroup();
    if (id < 0) throw new QuicError('TOO_MANY_GROUPS', 'at most 64 groups from the oldest open one on can be open');
    return new GroupWriter(id, this, this.native);
  }

  serve(request: ServerRequest, response: ServerResponse): boolean {
    return serveFrom(this.native, request, response);
  }

  heldDownMs(address: string): number {
    return this.native.heldDownMs(address);
  }

  status(): ChannelSourceStatus {
    return this.native.status();
  }

  close(): void {
    this.closed = true;
    this.native.close();
    this.onRoom();
  }

  /** Resolves once bytes that found no room may find some. */
  room(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  assertOpen(): void {
    if (this.closed) throw new QuicError('CHANNEL_CLOSED', 'the channel is closed');
  }

  private onRoom(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const wake of waiting) wake();
  }
}

class GroupWriter implements ChannelGroupWriter {
  private bytes = 0;
  private over = false;

  constructor(
    readonly id: number,
    private readonly source: Source,
    private readonly native: NativeChannelSource,
  ) {}

  async write(bytes: Uint8Array): Promise<void> {
    this.bytes += bytes.byteLength;
    if (this.bytes > maxGroup) throw new RangeError(`a group has at most ${maxGroup} bytes`);
    let rest = bytes;
    for (;;) {
      this.assertOpen();
      rest = rest.subarray(this.native.write(this.id, rest));
      if (rest.byteLength === 0) return;
      await this.source.room();
    }
  }

  end(): Promise<void> {
    return this.finish(() => this.native.endGroup(this.id));
  }

  reset(errorCode = 0): Promise<void> {
    return this.finish(() => this.native.resetGroup(this.id, errorCode));
  }

  /** Resolves once `act` has found room. */
  private async finish(act: () => boolean): Promise<void> {
    for (;;) {
      this.assertOpen();
      if (act()) {
        this.over = true;
        return;
      }
      await this.source.room();
    }
  }

  private assertOpen(): void {
    this.source.assertOpen();
    if (this.over) throw new QuicError('GROUP_ENDED', 'the group has ended');
  }
}

/**
 * Makes this process the source of a multicast channel, which goes on until it is closed.
 * @throws Error with the system's `code`, such as `EADDRNOTAVAIL` when no interface has the source's address
 */
export function openChannelSource(options: ChannelSourceOptions = {}): ChannelSource {
  return new Source(options);
}

/** Milliseconds for which clients should not join a channel that has no source now */
const absentMs = 1_000;

/**
 * Returns a channel that a source in another thread of this process sends, under the name `sharedAs`. Each call looks for the newest
 * source of this name. While there is none, `serve` returns false, and `heldDownMs` a second.
 */
export function sharedChannel(name: string): JoinableChannel {
  return {
    serve: (request, response) => serveFrom(name, request, response),
    heldDownMs: (address) => {
      const heldMs = addon().sharedChannelHeldDownMs(name, address);
      return heldMs < 0 ? absentMs : heldMs;
    },
  };
}
