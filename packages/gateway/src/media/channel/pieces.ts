import type { TrackInfo } from '../model/track.js';
import { Cursor, violation } from '../moq/cursor.js';
import { bigVarint, byte, flag, text, varint } from '../moq/fields.js';
import { MOQ_LIMITS, readTrackInfo, trackInfoFields } from '../moq/messages.js';

/**
 * What a channel carries of live media (docs/reference/wire.md#media-over-a-channel). A group of the channel is a segment, and its frames
 * are pieces. Each segment can be read alone: it begins with the list of broadcasts, and names each group of media before its frames.
 */

/** First byte of a piece */
const PIECE = { broadcasts: 0, group: 1, frame: 2, end: 3 } as const;

/** Broadcasts of a channel at one time */
const maxBroadcasts = 256;

/** A broadcast as the list of a segment names it */
export interface ListedBroadcast {
  /** Differs from those of all broadcasts before, also of the same name */
  id: number;
  name: string;
  /** Nodes that it came through, its publisher first, without the gateway */
  hops: readonly bigint[];
}

export interface BroadcastList {
  kind: 'broadcasts';
  /** The number of the gateway in announcements */
  origin: bigint;
  broadcasts: readonly ListedBroadcast[];
}

/** A group of media begins in this segment, or goes on in it. Its number within the segment is the count of such pieces before. */
export interface GroupPiece {
  kind: 'group';
  /** Id of its broadcast */
  broadcast: number;
  track: string;
  info: TrackInfo;
  sequence: number;
  /** Index of the first frame that this segment brings */
  from: number;
}

export interface FramePiece {
  kind: 'frame';
  /** Number of the group within the segment */
  group: number;
  /** From the timestamp of the frame before, as a zigzag integer */
  distance: number;
  payload: Uint8Array;
}

/** No frames of a group follow. */
export interface EndPiece {
  kind: 'end';
  group: number;
  /** Whether all frames of the group are there */
  complete: boolean;
}

export type Piece = BroadcastList | GroupPiece | FramePiece | EndPiece;

export function encodeList({ origin, broadcasts }: Omit<BroadcastList, 'kind'>): Buffer {
  const fields = broadcasts.flatMap(({ id, name, hops }) => [
    ...[varint(id), text(name), varint(hops.length)],
    ...hops.map(bigVarint),
  ]);
  return Buffer.concat([byte(PIECE.broadcasts), bigVarint(origin), varint(broadcasts.length), ...fields]);
}

export function encodeGroup({ broadcast, track, info, sequence, from }: Omit<GroupPiece, 'kind'>): Buffer {
  const fields = [varint(broadcast), text(track), ...trackInfoFields(info), varint(sequence), varint(from)];
  return Buffer.concat([byte(PIECE.group), ...fields]);
}

/** Returns what stands before a frame, whose bytes are those of moq-lite. */
export function encodeFrameHead(group: number): Buffer {
  return Buffer.concat([byte(PIECE.frame), varint(group)]);
}

export function encodeEnd({ group, complete }: Omit<EndPiece, 'kind'>): Buffer {
  return Buffer.concat([byte(PIECE.end), varint(group), flag(complete)]);
}

/** @throws MediaError `protocol_violation` */
export function decodePiece(bytes: Uint8Array): Piece {
  const cursor = new Cursor(bytes);
  const piece = readPiece(cursor);
  cursor.end();
  return piece;
}

function readPiece(cursor: Cursor): Piece {
  const kind = cursor.byte();
  switch (kind) {
    case PIECE.broadcasts:
      return readList(cursor);
    case PIECE.group: {
      const [broadcast, track] = [cursor.varint(), cursor.text(MOQ_LIMITS.name)];
      const info = readTrackInfo(cursor);
      return { kind: 'group', broadcast, track, info, sequence: cursor.varint(), from: cursor.varint() };
    }
    case PIECE.frame: {
      const [group, distance, length] = [cursor.varint(), cursor.varint(), cursor.varint()];
      if (length > MOQ_LIMITS.frame) throw violation(`a frame has ${length} bytes`);
      return { kind: 'frame', group, distance, payload: cursor.raw(length) };
    }
    case PIECE.end:
      return { kind: 'end', group: cursor.varint(), complete: cursor.flag() };
    default:
      throw violation(`${kind} is no piece of a segment`);
  }
}

function readList(cursor: Cursor): BroadcastList {
  const origin = cursor.bigVarint();
  const count = cursor.varint();
  if (count > maxBroadcasts) throw violation(`a segment lists ${count} broadcasts`);
  const broadcasts = Array.from({ length: count }, (): ListedBroadcast => {
    const [id, name, hops] = [cursor.varint(), cursor.text(MOQ_LIMITS.name), cursor.varint()];
    if (name === '') throw violation('a broadcast has no name');
    // The gateway adds itself.
    if (hops >= MOQ_LIMITS.hops) throw violation(`a broadcast came through ${hops} nodes`);
    return { id, name, hops: Array.from({ length: hops }, () => cursor.bigVarint()) };
  });
  return { kind: 'broadcasts', origin, broadcasts };
}
