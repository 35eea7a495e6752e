/**
 * Part of the time whose peak is compared with later peaks. Caches and pools fill in the first fifth. Peaks are
 * compared because the saw-tooth of the garbage collector has no other steady value.
 */
const SETTLED = { from: 0.2, to: 0.4 };
/** Growth of the gateway after that, at any time, that counts as flat */
export const FLAT_MIB = 16;

export interface MemoryVerdict {
  settled: number;
  maximum: number;
  end: number;
  growth: number;
  allowed: number;
}

/** Judges memory in MiB. It may not rise after it has settled, even if it is released before the end. */
export function judgeMemory(samples: readonly number[], allowed: number): MemoryVerdict {
  const index = (part: number): number => Math.floor(samples.length * part);
  const settled = Math.max(0, ...samples.slice(index(SETTLED.from), index(SETTLED.to)));
  const maximum = Math.max(0, ...samples.slice(index(SETTLED.to)));
  const growth = Math.max(0, Math.round(maximum - settled));
  return {
    settled: Math.round(settled),
    maximum: Math.round(maximum),
    end: Math.round(samples.at(-1) ?? 0),
    growth,
    allowed,
  };
}
