import * as Moq from '@moq/net';
import { HEIGHT, WIDTH } from './drawn_clock.js';
import { FRAMES_PER_SECOND } from './picture_source.js';
import { BROADCAST, CATALOG, TRACK } from './session.js';

/** VP9, which LL-HLS can carry, too */
const CODEC = 'vp09.00.21.08';
const BITRATE = 1_200_000;
/** A group of a second: who comes late waits so long for a key frame at most */
const GROUP_FRAMES = FRAMES_PER_SECOND;
/** Pictures that may wait for the encoder. A machine that is too slow leaves out further ones. */
const MAX_WAITING = 4;

/** What a publisher has sent */
export interface Published {
  frames: number;
  bytes: number;
  /** Pictures that the encoder had no time for */
  skipped: number;
  /** Frames of each group, by its number */
  readonly groups: Map<number, number>;
}

/** Encodes pictures and publishes them as a broadcast of moq-lite. */
export class Publisher {
  readonly published: Published = { frames: 0, bytes: 0, skipped: 0, groups: new Map() };
  private readonly catalog: Moq.Track.Producer;
  private readonly track: Moq.Track.Producer;
  private readonly encoder: VideoEncoder;
  private group: Moq.Group.Producer | undefined;
  private pictures = 0;

  constructor(
    session: Moq.Connection.Established,
    private readonly failed: (error: Error) => void,
  ) {
    const broadcast = new Moq.Broadcast.Producer();
    this.catalog = broadcast.createTrack(CATALOG);
    this.track = broadcast.createTrack(TRACK, { timescale: Moq.Time.Timescale(1_000_000) });
    this.encoder = new VideoEncoder({
      output: (chunk, about) => this.write(chunk, about),
      error: (error) => this.failed(error),
    });
    this.encoder.configure({
      codec: CODEC,
      width: WIDTH,
      height: HEIGHT,
      bitrate: BITRATE,
      framerate: FRAMES_PER_SECOND,
      latencyMode: 'realtime',
    });
    session.publish(BROADCAST, broadcast);
  }

  /** Takes a picture, and closes it. */
  take(picture: VideoFrame): void {
    if (this.encoder.state !== 'configured') return picture.close();
    if (this.encoder.encodeQueueSize < MAX_WAITING) {
      this.encoder.encode(picture, { keyFrame: this.pictures % GROUP_FRAMES === 0 });
      this.pictures += 1;
    } else this.published.skipped += 1;
    picture.close();
  }

  close(): void {
    if (this.encoder.state !== 'closed') this.encoder.close();
  }

  /** Describes the track. The stream itself does not tell how the encoder has turned colours into numbers. */
  private describe({ colorSpace }: VideoDecoderConfig): void {
    const size = { codedWidth: WIDTH, codedHeight: HEIGHT };
    const picture = { codec: CODEC, container: { kind: 'legacy' }, ...size, framerate: FRAMES_PER_SECOND, colorSpace };
    this.catalog.writeJson({ video: { renditions: { [TRACK]: picture } } });
  }

  private write(chunk: EncodedVideoChunk, about?: EncodedVideoChunkMetadata): void {
    if (about?.decoderConfig) this.describe(about.decoderConfig);
    if (chunk.type === 'key') {
      this.group?.close();
      this.group = this.track.appendGroup();
    }
    if (!this.group) return;
    const { frames, groups } = this.published;
    const timestamp = Moq.Varint.encode(chunk.timestamp);
    const payload = new Uint8Array(timestamp.length + chunk.byteLength);
    payload.set(timestamp);
    chunk.copyTo(payload.subarray(timestamp.length));
    this.group.writeFrame({ payload, timestamp: Moq.Time.Timestamp.fromMicros(Moq.Time.Micro(chunk.timestamp)) });
    this.published.frames = frames + 1;
    this.published.bytes += payload.length;
    groups.set(this.group.sequence, (groups.get(this.group.sequence) ?? 0) + 1);
    // An hour, for those who compare
    groups.delete(this.group.sequence - 3_600);
  }
}
