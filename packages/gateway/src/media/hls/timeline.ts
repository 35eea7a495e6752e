import { readVarint } from '@sheaf/web-client/protocol';
import type { Frame } from '../model/frame.js';
import type { Group } from '../model/group.js';
import type { Track } from '../model/track.js';
import type { Rendition } from './catalog.js';
import { fragment, type Sample } from './fragment.js';
import { TIMESCALE } from './init_segment.js';

/** Longest part, in microseconds, unless a single frame is longer. A part of whole frames of the usual rates fills 90 % of it. */
export const PART_TARGET = 250_000;

/** Longest time of a frame, in microseconds: what a publisher may claim */
const maxFrame = 60_000_000;

/** Largest number of groups that may be missing between two of a playlist */
const maxGap = 3;

/** Frames of a group that are delivered together */
export interface Part {
  first: number;
  /** Index behind the last frame */
  end: number;
  /** In microseconds */
  duration: number;
}

/** A group as a segment. Its number is the media sequence number, so that all nodes number alike. */
export interface Segment {
  sequence: number;
  /** Undefined: the group is missing */
  group: Group | undefined;
  /** Parts that are complete */
  parts: readonly Part[];
  /** Whether all parts are there */
  complete: boolean;
  /** Duration of the complete parts, in microseconds */
  duration: number;
  /** Times of all frames, and of the first frame behind the group, in microseconds */
  times: readonly number[];
}

/** Segments by track, with the change of the track and the rendition that they were made of: viewers wait for the same ones */
const made = new WeakMap<Track, { changes: number; rendition: Rendition; segments: readonly Segment[] }>();

/** Returns the segments of a track, the oldest first. The last one may still grow. */
export function segmentsOf(track: Track, rendition: Rendition): readonly Segment[] {
  const { changes } = track;
  const known = made.get(track);
  if (known?.changes === changes && known.rendition === rendition) return known.segments;
  const segments = makeSegments(track, rendition);
  made.set(track, { changes, rendition, segments });
  return segments;
}

function makeSegments(track: Track, rendition: Rendition): Segment[] {
  const groups = track.groups.filter(({ frames }) => frames.length > 0);
  const segments: Segment[] = [];
  for (const [index, group] of groups.entries()) {
    const last = segments.at(-1);
    const missing = last === undefined ? 0 : group.sequence - last.sequence - 1;
    if (missing > maxGap) segments.length = 0;
    else for (let gap = missing; gap > 0; gap -= 1) segments.push(gapSegment(group.sequence - gap));
    segments.push(segmentOf(group, groups[index + 1], track, rendition));
  }
  return segments;
}

function gapSegment(sequence: number): Segment {
  return { sequence, group: undefined, parts: [], complete: true, duration: 0, times: [] };
}

function segmentOf(group: Group, next: Group | undefined, track: Track, rendition: Rendition): Segment {
  const timescale = track.info?.timescale ?? 1;
  const timeOf = (frame: Frame): number => timeOfFrame(frame, rendition, timescale);
  const times = group.frames.map(timeOf);
  // A frame lasts until the next one, which may be the first of the next group.
  if (next && !group.open) times.push(timeOf(next.frames[0]!));
  const whole = next !== undefined && !group.open;
  const parts = cut(times, whole);
  const duration = parts.reduce((sum, part) => sum + part.duration, 0);
  return { sequence: group.sequence, group, parts, complete: whole, duration, times };
}

/**
 * Cuts frames into parts. The last time only ends the frame before it. A part ends before a frame that does not fit, and at once when
 * another frame like its last one would not fit. So parts that were returned once never change. A whole group also has its last part.
 */
export function cut(times: readonly number[], whole: boolean): Part[] {
  const parts: Part[] = [];
  let part: Part = { first: 0, end: 0, duration: 0 };
  const close = (): void => {
    if (part.end > part.first) parts.push(part);
    part = { first: part.end, end: part.end, duration: 0 };
  };
  for (let index = 0; index + 1 < times.length; index += 1) {
    const duration = durationOf(times, index);
    if (part.duration + duration > PART_TARGET) close();
    part = { first: part.first, end: index + 1, duration: part.duration + duration };
    if (part.duration + duration > PART_TARGET) close();
  }
  if (whole) close();
  return parts;
}

function durationOf(times: readonly number[], index: number): number {
  return Math.min(Math.max(times[index + 1]! - times[index]!, 0), maxFrame);
}

/** Returns the bytes of a part. */
export function partBytes({ group, sequence, times }: Segment, part: Part, rendition: Rendition): Buffer {
  const frames = group?.frames.slice(part.first, part.end) ?? [];
  if (rendition.container.kind === 'cmaf') return Buffer.concat(frames.map(({ payload }) => payload));
  const audio = 'sampleRate' in rendition;
  const samples = frames.map((frame, offset): Sample => {
    const index = part.first + offset;
    return { data: withoutTime(frame), duration: durationOf(times, index), key: audio || index === 0 };
  });
  return fragment(sequence % 0xffff_ffff, times[part.first]!, samples);
}

/** Returns the time of a frame in microseconds. The container `legacy` has it before the payload. */
function timeOfFrame({ payload, timestamp }: Frame, { container }: Rendition, timescale: number): number {
  const own = container.kind === 'legacy' ? leadingTime(payload)?.value : undefined;
  return own ?? Math.round((timestamp * TIMESCALE) / timescale);
}

function withoutTime({ payload }: Frame): Buffer {
  return payload.subarray(leadingTime(payload)?.end ?? payload.length);
}

function leadingTime(payload: Buffer): ReturnType<typeof readVarint> {
  try {
    return readVarint(payload, 0);
  } catch {
    return undefined;
  }
}
