import { varintLength, writeVarint } from '@sheaf/web-client/protocol';
import { MediaError } from './media_error.js';

/**
 * One frame, in the bytes of moq-lite: the distance of its timestamp to the one before as a zigzag integer, the length of the payload,
 * the payload. The first frame of a group counts from 0, so the bytes of a group are the same for every viewer.
 */
export interface Frame {
  /** In units of the track's timescale */
  readonly timestamp: number;
  readonly record: Buffer;
  /** The last part of `record` */
  readonly payload: Buffer;
}

/** Returns the frame with this payload behind one with the timestamp `previous`, which is 0 for the first frame of a group. */
export function makeFrame(previous: number, timestamp: number, payload: Uint8Array): Frame {
  const delta = zigzag(timestamp - previous);
  const head = varintLength(delta) + varintLength(payload.length);
  // Memory of its own, since a frame of the cache outlives its neighbours in a shared pool.
  const record = Buffer.allocUnsafeSlow(head + payload.length);
  writeVarint(record, writeVarint(record, 0, delta), payload.length);
  record.set(payload, head);
  return { timestamp, record, payload: record.subarray(head) };
}

function zigzag(value: number): number {
  return value >= 0 ? value * 2 : -value * 2 - 1;
}

/** Returns the timestamp that lies this zigzag distance behind `previous`. @throws MediaError when it is not a timestamp */
export function timestampBehind(previous: number, distance: number): number {
  const timestamp = previous + (distance % 2 === 0 ? distance / 2 : -(distance + 1) / 2);
  if (timestamp < 0 || timestamp > MAX_TIMESTAMP)
    throw new MediaError('protocol_violation', `a frame has the timestamp ${timestamp}`);
  return timestamp;
}

/** Largest timestamp whose zigzag form a JavaScript number holds exactly */
export const MAX_TIMESTAMP = 2 ** 52 - 1;
