/**
 * The parts of a library for moq-lite that signing and verifying use. Tracks, groups and broadcasts of `@moq/net` have them.
 */

/** A frame with its time. Libraries have classes for times. */
export interface MediaFrame<Time> {
  payload: Uint8Array;
  timestamp: Time;
}

/** A time that a publisher gives */
export interface WrittenTime {
  /** Returns the time in units of which a second has so many. */
  as(unitsPerSecond: number): number;
}

/** A time that came with a frame, in units of which a second has `scale` */
export interface ReadTime {
  readonly value: number;
  readonly scale: number;
}

/** A group that is written */
export interface GroupSink<Time> {
  readonly sequence: number;
  writeFrame(frame: MediaFrame<Time>): void;
  close(abort?: Error): void;
}

/** A track that is written */
export interface TrackSink<Time> {
  readonly name: string;
  info(): Promise<{ readonly timescale: number }>;
  appendGroup(): GroupSink<Time>;
}

/** A group that is read */
export interface GroupSource {
  readonly sequence: number;
  /** Undefined: the group has ended. Rejects when it was cut off. */
  readFrame(): Promise<MediaFrame<ReadTime> | undefined>;
  close(): void;
}

/** A track that is read */
export interface TrackSource {
  info(): Promise<{ readonly timescale: number }>;
  /** Undefined: the track has ended. Rejects when it failed. */
  recvGroup(): Promise<GroupSource | undefined>;
  close(): void;
}

export interface SubscribeOptions {
  /** 0 to 255; the highest is sent first */
  priority?: number;
  /** Milliseconds after which a group may be skipped when a newer one has begun */
  latencyMax?: number;
  /** Number of the first group that is wanted; otherwise the newest is the first */
  startGroup?: number;
}

export interface BroadcastSource {
  subscribe(track: string, options: SubscribeOptions): TrackSource;
}

/** Returns the name of the track with the statements about a track. */
export function signatureTrack(track: string): string {
  return `${track}.sig`;
}
