import type { BroadcastSource } from '../model/broadcast.js';
import type { Clock } from '../model/clock.js';
import { timestampBehind } from '../model/frame.js';
import type { Group } from '../model/group.js';
import { asMediaError, MediaError } from '../model/media_error.js';
import type { Track } from '../model/track.js';
import type { ByteReader } from './byte_reader.js';
import { violation } from './cursor.js';
import {
  decodeGroupHead,
  decodeSubscribeResponse,
  decodeTrackInfo,
  encodeSubscribe,
  encodeTrackRequest,
  MOQ_LIMITS,
  REQUEST_STREAM,
} from './messages.js';
import type { MoqStream, MoqStreams } from './moq_streams.js';

/** Milliseconds for a publisher to tell the properties of a track */
const answerMs = 10_000;

/** Milliseconds for the last groups to begin, after a publisher has said how many there are */
const stragglersMs = 2_000;

/** Priority of our subscriptions at a publisher, whose own priorities order its tracks */
const priority = 128;

/** A subscription to a track; its stream is missing while it is opened. */
interface Subscribed {
  id: number;
  stream?: MoqStream;
}

/** The tracks that one client publishes, as far as somebody wants them */
export class PublishedTracks {
  /** Tracks whose stream is being opened, or is open */
  readonly #wanted = new Map<Track, Subscribed | undefined>();
  readonly #byId = new Map<number, Track>();
  #next = 0;

  constructor(
    private readonly streams: MoqStreams,
    private readonly clock: Clock,
    /** Milliseconds for which groups are kept */
    private readonly history: number,
    /** First group that is asked for; undefined for the newest */
    private readonly first?: number,
  ) {}

  /** Returns the source of a broadcast of this name. */
  source(broadcast: string): BroadcastSource {
    return {
      open: (track) => {
        this.#wanted.set(track, undefined);
        this.#open(broadcast, track).catch((error: unknown) => this.#fail(track, error));
      },
      close: (track) => this.#close(track),
    };
  }

  async #open(broadcast: string, track: Track): Promise<void> {
    await this.#askForProperties(broadcast, track);
    if (!this.#wanted.has(track)) return;
    const id = this.#next;
    this.#next += 1;
    const message = encodeSubscribe({
      ...{ id, broadcast, track: track.name, priority, ordered: false },
      ...{ maxLatency: Math.round(this.history), start: this.first, end: undefined },
    });
    const subscribed: Subscribed = { id };
    this.#wanted.set(track, subscribed);
    // Groups may come before the request has left for good.
    this.#byId.set(id, track);
    const stream = await this.streams.request(REQUEST_STREAM.subscribe, message);
    if (!this.#wanted.has(track)) {
      this.streams.abandon(stream, unwanted());
      return;
    }
    subscribed.stream = stream;
    const groups = await this.#readResponses(stream.reader);
    await this.#awaitGroups(track, groups);
    track.end();
  }

  /** Asks for the properties of a track. @throws MediaError when there is no such track */
  async #askForProperties(broadcast: string, track: Track): Promise<void> {
    const stream = await this.streams.request(
      REQUEST_STREAM.track,
      encodeTrackRequest({ broadcast, track: track.name }),
    );
    const missing = new MediaError('not_found', `the publisher has no track ${track.name}`);
    const revoke = this.clock.after(answerMs, () => this.streams.abandon(stream, missing));
    try {
      const message = await stream.reader.message().catch(() => undefined);
      if (message === undefined) throw missing;
      track.accept(decodeTrackInfo(message));
      stream.sent.end();
    } finally {
      revoke();
      stream.reader.cancel(missing);
    }
  }

  /** Reads until the publisher ends the subscription. Returns the number that follows that of its last group, if it told one. */
  async #readResponses(reader: ByteReader): Promise<number | undefined> {
    let end: number | undefined;
    for (;;) {
      const type = await reader.varint();
      if (type === undefined) return end;
      const response = decodeSubscribeResponse(type, await reader.requiredMessage());
      if (response.kind === 'end') end = response.group;
    }
  }

  /** Streams of groups may come after the end of the subscription. Waits until the last one has begun. */
  async #awaitGroups(track: Track, end: number | undefined): Promise<void> {
    const late = new AbortController();
    const { signal } = late;
    const revoke = this.clock.after(stragglersMs, () => late.abort());
    while (!signal.aborted && (track.newest?.sequence ?? -1) + 1 < (end ?? 0)) await track.changed(signal);
    revoke();
  }

  /** Reads the stream of a group. @throws MediaError when the publisher violates the protocol */
  async receive(reader: ByteReader): Promise<void> {
    const { subscription, sequence } = decodeGroupHead(await reader.requiredMessage());
    if (subscription >= this.#next) throw violation(`there is no subscription ${subscription}`);
    const track = this.#byId.get(subscription);
    if (track === undefined) throw unwanted();
    const group = track.begin(sequence);
    try {
      while (await readFrame(reader, track, group));
      if (group.open) track.finish(group);
      else reader.cancel(group.error ?? new MediaError('cancelled', 'the group has ended'));
    } catch (error) {
      group.abort(asMediaError(error));
      throw error;
    }
  }

  #fail(track: Track, error: unknown): void {
    track.fail(asMediaError(error));
    this.#close(track);
    if (error instanceof MediaError && error.kind === 'protocol_violation') this.streams.close(error);
  }

  #close(track: Track): void {
    const subscribed = this.#wanted.get(track);
    this.#wanted.delete(track);
    if (subscribed === undefined) return;
    this.#byId.delete(subscribed.id);
    subscribed.stream?.sent.end();
    subscribed.stream?.reader.cancel(unwanted());
  }
}

function unwanted(): MediaError {
  return new MediaError('cancelled', 'nobody wants the track any more');
}

/** Reads one frame into the group. Returns false at the end of the stream, or when the group has no room for more. */
async function readFrame(reader: ByteReader, track: Track, group: Group): Promise<boolean> {
  const distance = await reader.varint();
  if (distance === undefined) return false;
  const timestamp = timestampBehind(group.frames.at(-1)?.timestamp ?? 0, distance);
  const length = await reader.varint();
  if (length === undefined) throw violation('a stream ends within a frame');
  if (length > MOQ_LIMITS.frame) throw new MediaError('too_large', `a frame has ${length} bytes`);
  const payload = await reader.bytes(length);
  track.write(group, timestamp, payload);
  return group.open;
}
