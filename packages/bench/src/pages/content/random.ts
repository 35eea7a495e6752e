import { createHash } from 'node:crypto';

/** Returns numbers below 2^32, the same for the same seed on every machine. */
export type Random = () => number;

export function seededRandom(seed: string): Random {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0) || 1;
  return () => {
    // xorshift32 (Marsaglia 2003), which suffices for pictures and words
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
}

export function randomBytes(length: number, random: Random): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let index = 0; index < length; index += 1) bytes[index] = random() >>> 24;
  return bytes;
}

const syllables = [
  'ba',
  'den',
  'fi',
  'gar',
  'hal',
  'ko',
  'lum',
  'mi',
  'nor',
  'pe',
  'ra',
  'sol',
  'ta',
  'ven',
  'wi',
  'zo',
];

/** Returns words: exactly this many ASCII letters and spaces. */
export function words(length: number, random: Random): string {
  const parts: string[] = [];
  for (let written = 0; written < length;) {
    let word = '';
    for (let count = 1 + (random() % 3); count > 0; count -= 1) word += syllables[random() % syllables.length]!;
    parts.push(word);
    written += word.length + 1;
  }
  return parts.join(' ').padEnd(length, '.').slice(0, length);
}
