import { box, fullBox, uint32, uint64 } from './boxes.js';

/** One encoded picture, or piece of sound */
export interface Sample {
  data: Uint8Array;
  /** In microseconds */
  duration: number;
  /** Whether players may begin here */
  key: boolean;
}

/** Sizes of `moof` and its boxes before the table of samples, and of `mdat` before its data */
const headBytes = 8 + 16 + 8 + 16 + 20 + 20 + 8;
const sampleBytes = 12;

const keyFlags = 0x200_0000; // depends on no other sample
const deltaFlags = 0x101_0000; // depends on others, and is no place to begin

/** Returns a fragment (ISO/IEC 14496-12 §8.8) with these samples, which begins at this time in microseconds. */
export function fragment(number: number, start: number, samples: readonly Sample[]): Buffer {
  const offset = headBytes + samples.length * sampleBytes;
  const table = samples.map(({ data, duration, key }) => uint32(duration, data.length, key ? keyFlags : deltaFlags));
  const run = fullBox('trun', 0, 0x701, uint32(samples.length, offset), ...table);
  const baseIsFragment = 0x2_0000;
  const track = box('traf', fullBox('tfhd', 0, baseIsFragment, uint32(1)), fullBox('tfdt', 1, 0, uint64(start)), run);
  const movie = box('moof', fullBox('mfhd', 0, 0, uint32(number)), track);
  return Buffer.concat([movie, box('mdat', ...samples.map(({ data }) => data))]);
}
