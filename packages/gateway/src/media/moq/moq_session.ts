import type { ReadableStream } from 'node:stream/web';
import type { Logger } from 'pino';
import type { Broadcasts } from '../model/broadcasts.js';
import type { Clock } from '../model/clock.js';
import type { CacheLimits } from '../model/group_cache.js';
import { asMediaError, MediaError } from '../model/media_error.js';
import type { Track } from '../model/track.js';
import { Announcer } from './announcer.js';
import { Allowance, ByteReader } from './byte_reader.js';
import { varint } from './fields.js';
import {
  DATA_STREAM,
  decodeAnnounceRequest,
  decodeFetch,
  decodeSetup,
  decodeSubscribe,
  decodeTrackRequest,
  encodeSetup,
  encodeTrackInfo,
  REQUEST_STREAM,
  type TrackRequest,
} from './messages.js';
import type { MoqPeer } from './moq_peer.js';
import { MoqStreams, type MoqStream } from './moq_streams.js';
import type { MoqBidirectionalStream, MoqTransport } from './moq_transport.js';
import { PublishedBroadcasts } from './published_broadcasts.js';
import { PublishedTracks } from './published_tracks.js';
import { SentBytes } from './sent_bytes.js';
import { Subscription } from './subscription.js';

/** Bytes that incomplete frames and messages of one session may hold */
const maxIncomplete = 16 * 1_024 * 1_024;

/** Groups that are on their way to another worker, which begins with all that are kept */
const maxSendingToWorker = 64;

export interface MoqSessionOptions {
  session: MoqTransport;
  broadcasts: Broadcasts;
  peer: MoqPeer;
  /** The number by which this node recognizes its own announcements */
  origin: bigint;
  limits: CacheLimits;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
}

/** A session of moq-lite with one client, which may publish and watch, or with another worker. */
export class MoqSession {
  readonly #options: MoqSessionOptions;
  readonly #streams: MoqStreams;
  readonly #tracks: PublishedTracks;

  constructor(options: MoqSessionOptions) {
    this.#options = options;
    this.#streams = new MoqStreams(options.session, new Allowance(maxIncomplete));
    // What is kept elsewhere can be fetched here, too.
    const first = options.peer.kind === 'worker' ? 0 : undefined;
    this.#tracks = new PublishedTracks(this.#streams, options.clock, options.limits.history, first);
  }

  /** Runs until the session is over. */
  async run(): Promise<void> {
    const { session, peer } = this.#options;
    const published = new PublishedBroadcasts({ ...this.#options, streams: this.#streams, tracks: this.#tracks });
    const parts = [
      this.#sendSetup(),
      this.#forEach(session.incomingBidirectionalStreams, (stream) => this.#answer(stream)),
      this.#forEach(session.incomingUnidirectionalStreams, (stream) => this.#receive(stream)),
      ...(peer.kind === 'worker' || peer.mayPublish ? [published.run()] : []),
    ];
    await Promise.all(parts.map((part) => part.catch((error: unknown) => this.#judge(error))));
    await session.closed;
    published.close();
  }

  async #sendSetup(): Promise<void> {
    const stream = await this.#streams.unidirectional();
    stream.setPriority({ urgency: 0, incremental: false });
    const sent = new SentBytes(stream);
    await sent.write(Buffer.concat([varint(DATA_STREAM.setup), encodeSetup(this.#options.origin)]));
    sent.end();
  }

  async #forEach<Stream>(streams: ReadableStream<Stream>, act: (stream: Stream) => Promise<void>): Promise<void> {
    for await (const stream of streams) void act(stream);
  }

  /** Answers one request of the client. */
  async #answer(accepted: MoqBidirectionalStream): Promise<void> {
    const stream = this.#streams.accept(accepted);
    try {
      await this.#dispatch(stream);
      stream.sent.end();
      stream.reader.cancel(new MediaError('cancelled', 'the request has ended'));
    } catch (error) {
      this.#streams.abandon(stream, error);
      this.#judge(error);
    }
  }

  async #dispatch(stream: MoqStream): Promise<void> {
    const { reader } = stream;
    const { broadcasts, origin, peer } = this.#options;
    switch (await reader.varint()) {
      case REQUEST_STREAM.announce: {
        const request = decodeAnnounceRequest(await reader.requiredMessage());
        return new Announcer({ broadcasts, origin, request, peer }).run(stream);
      }
      case REQUEST_STREAM.subscribe:
        return this.#subscribe(stream);
      case REQUEST_STREAM.fetch:
        return this.#fetch(stream);
      case REQUEST_STREAM.track: {
        const track = this.#find(decodeTrackRequest(await reader.requiredMessage()));
        return stream.sent.write(encodeTrackInfo(await track.ready(stream.sent.over)));
      }
      case REQUEST_STREAM.goaway:
        // The client is about to leave, and may say where to. A server does not follow.
        await reader.requiredMessage();
        return undefined;
      case undefined:
        return undefined;
      default:
        // Among them the probe, which measures what a sender of datagrams would have to know.
        throw new MediaError('unsupported', 'there is no such request');
    }
  }

  async #subscribe(stream: MoqStream): Promise<void> {
    const request = decodeSubscribe(await stream.reader.requiredMessage());
    const { clock, limits, peer } = this.#options;
    const { history } = limits;
    const track = this.#find(request);
    const maxSending = peer.kind === 'worker' ? maxSendingToWorker : undefined;
    return new Subscription({ streams: this.#streams, track, request, history, clock, maxSending }).run(stream);
  }

  /** Sends the frames of one group that is kept. */
  async #fetch({ reader, sent }: MoqStream): Promise<void> {
    const request = decodeFetch(await reader.requiredMessage());
    const track = this.#find(request);
    await track.ready(sent.over);
    const group = track.group(request.group);
    if (group === undefined) throw new MediaError('not_found', `the group ${request.group} is not kept`);
    await track.whileRead(async () => {
      for (let index = 0; ; index += 1) {
        const frame = await group.frame(index, sent.over);
        if (frame === undefined) return;
        await sent.write(frame.record);
      }
    });
  }

  /** @throws MediaError */
  #find({ broadcast: name, track }: TrackRequest): Track {
    const broadcast = this.#options.broadcasts.get(name);
    if (broadcast === undefined) throw new MediaError('not_found', `there is no broadcast ${name}`);
    return broadcast.track(track);
  }

  /** Reads one unidirectional stream of the client. */
  async #receive(readable: ReadableStream<Uint8Array>): Promise<void> {
    const reader = new ByteReader(readable, this.#streams.allowance);
    try {
      const type = await reader.varint();
      if (type === DATA_STREAM.setup) decodeSetup(await reader.requiredMessage());
      else if (type === DATA_STREAM.group) await this.#tracks.receive(reader);
      else throw new MediaError('unexpected_stream', 'there is no such stream');
      reader.cancel(new MediaError('cancelled', 'the stream was read'));
    } catch (error) {
      reader.cancel(asMediaError(error));
      this.#judge(error);
    }
  }

  /** Ends the session when the client violated the protocol. Any other error has ended its stream, which is enough. */
  #judge(error: unknown): void {
    if (error instanceof MediaError && error.kind === 'protocol_violation') this.#streams.close(error);
  }
}
