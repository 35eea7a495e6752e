/** Converts values to pixels. */
export interface Scale {
  (value: number): number;
  /** Round values that span the scale */
  ticks: number[];
}

const STEPS = [1, 2, 2.5, 5, 10];

/** Returns a linear scale from 0 to `most` or a little above, with about `count` ticks. */
export function linearScale(most: number, [from, to]: readonly [number, number], count = 6): Scale {
  const rough = (most > 0 ? most : 1) / count;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = (STEPS.find((candidate) => candidate * magnitude >= rough) ?? 10) * magnitude;
  const end = Math.ceil((most > 0 ? most : 1) / step - 1e-9) * step;
  const scale = (value: number): number => from + ((to - from) * value) / end;
  const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, index) =>
    Number((index * step).toPrecision(12)),
  );
  return Object.assign(scale, { ticks });
}
