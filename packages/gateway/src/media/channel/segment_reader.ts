import { timestampBehind } from '../model/frame.js';
import type { Group } from '../model/group.js';
import { MediaError } from '../model/media_error.js';
import type { Track } from '../model/track.js';
import { violation } from '../moq/cursor.js';
import type { CarriedBroadcasts } from './carried_broadcasts.js';
import { decodePiece, type FramePiece, type GroupPiece } from './pieces.js';

/** Groups of media that are open in one segment at one time */
const maxOpen = 1_024;

/** A group that the segment brings; without `group`, nobody wants its frames. */
interface Arriving {
  track?: Track;
  group?: Group;
  /** Index of the next frame in the segment */
  next: number;
}

/** Puts the pieces of one segment into the broadcasts. Frames that came before, by another segment, are skipped. */
export class SegmentReader {
  readonly #arriving = new Map<number, Arriving>();
  #count = 0;
  #begun = false;

  constructor(
    private readonly broadcasts: CarriedBroadcasts,
    /** Whether no later segment was read, whose list is newer */
    private readonly isNewest: boolean,
  ) {}

  /** Whether its list was read */
  get begun(): boolean {
    return this.#begun;
  }
  /** Groups of media that have begun here or before, and not ended */
  get unfinished(): Set<Group> {
    return new Set([...this.#arriving.values()].flatMap(({ group }) => (group?.open === true ? [group] : [])));
  }

  /** Takes the next piece. @throws MediaError `protocol_violation` */
  take(bytes: Uint8Array): void {
    const piece = decodePiece(bytes);
    if (!this.#begun && piece.kind !== 'broadcasts') throw violation('a segment begins without a list of broadcasts');
    this.#begun = true;
    switch (piece.kind) {
      case 'broadcasts':
        if (this.isNewest) this.broadcasts.follow(piece);
        break;
      case 'group':
        this.#begin(piece);
        break;
      case 'frame':
        this.#add(this.#find(piece.group), piece);
        break;
      case 'end':
        this.#end(this.#find(piece.group), piece.complete);
        this.#arriving.delete(piece.group);
        break;
    }
  }

  #find(number: number): Arriving {
    const arriving = this.#arriving.get(number);
    if (arriving === undefined) throw violation(`the segment has no open group ${number}`);
    return arriving;
  }

  #begin(piece: GroupPiece): void {
    if (this.#arriving.size >= maxOpen) throw violation(`a segment has more than ${maxOpen} groups open`);
    const track = this.broadcasts.track(piece);
    const group = track && groupOf(track, piece);
    this.#arriving.set(this.#count, { ...(track && group && { track, group }), next: piece.from });
    this.#count += 1;
  }

  #add(arriving: Arriving, { distance, payload }: FramePiece): void {
    const { track, group, next } = arriving;
    arriving.next += 1;
    // The group has this frame already, or was dropped.
    if (!track || !group?.open || group.frames.length !== next) return;
    track.write(group, timestampBehind(group.frames.at(-1)?.timestamp ?? 0, distance), payload);
  }

  #end({ track, group, next }: Arriving, complete: boolean): void {
    if (!track || !group?.open) return;
    if (complete && group.frames.length === next) track.finish(group);
    else group.abort(incomplete(group));
  }
}

/** Returns the group of media that a segment brings frames of. Undefined: all of it is there, or its beginning is not. */
function groupOf(track: Track, { sequence, from }: GroupPiece): Group | undefined {
  const known = track.group(sequence);
  if (known) {
    if (known.open && known.frames.length < from) known.abort(incomplete(known));
    return known.open ? known : undefined;
  }
  if (from > 0) return undefined;
  try {
    return track.begin(sequence);
  } catch (error) {
    // It is no longer kept, or there is no memory.
    if (error instanceof MediaError) return undefined;
    throw error;
  }
}

/** Returns why a group ends of which the channel lost a part. */
export function incomplete({ sequence }: Group): MediaError {
  return new MediaError('expired', `a part of group ${sequence} did not come`);
}
