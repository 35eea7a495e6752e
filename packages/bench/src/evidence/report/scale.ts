export interface Scale {
  type: 'log' | 'linear';
  domain: [number, number];
  nice: boolean;
}

/** Makes room for these values. */
export function scaleOf(values: readonly number[], logarithmic: boolean): Scale {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (logarithmic && least > 0) return { type: 'log', domain: [least * 0.8, most * 1.25], nice: false };
  return { type: 'linear', domain: [Math.min(0, least), most === 0 ? 1 : most], nice: true };
}

/** Chooses round numbers on a logarithmic axis: powers of ten, and steps between a few of them. */
export function axisOf({ type, domain: [least, most] }: Scale): {
  values?: number[];
  tickCount?: number;
  format: string;
} {
  if (type === 'linear') return { tickCount: 5, format: ',~r' };
  const powers = Array.from(
    { length: Math.ceil(Math.log10(most)) - Math.floor(Math.log10(least)) + 1 },
    (_, index) => 10 ** (Math.floor(Math.log10(least)) + index),
  );
  const steps = Math.log10(most / least) < 2.5 ? [1, 2, 5] : [1];
  const values = powers.flatMap((power) => steps.map((step) => step * power));
  return { values: values.filter((value) => value >= least && value <= most), format: ',~r' };
}
