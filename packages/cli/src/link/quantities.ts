import { UserError } from '@sheaf/gateway';

/** A kind of number with a unit, and the factors of its units */
interface Quantity {
  name: string;
  units: Record<string, number>;
  example: string;
}

const bitRate: Quantity = { name: 'rate', units: { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9 }, example: '20mbit' };
const duration: Quantity = {
  name: 'duration',
  units: { us: 1e-3, ms: 1, s: 1e3, m: 60e3, h: 3_600e3 },
  example: '20ms',
};
const share: Quantity = { name: 'share', units: { '': 1, '%': 0.01 }, example: '1%' };
const queue: Quantity = {
  name: 'queue',
  units: { B: 1, KB: 1e3, MB: 1e6, KiB: 2 ** 10, MiB: 2 ** 20 },
  example: '64KiB or 50p',
};

function parse(option: string, text: string, { name, units, example }: Quantity): number {
  const match = /^(\d+(?:\.\d+)?)(\D*)$/.exec(text);
  const worth = units[match?.[2] ?? 'none'];
  if (worth !== undefined) return Number(match?.[1]) * worth;
  const known = Object.keys(units).filter((unit) => unit !== '');
  throw new UserError('USAGE', `--${option} ${text} is not a ${name}`, {
    hint: `write a number with ${known.join(', ')}, such as --${option} ${example}`,
  });
}

/** Parses a rate into bits per second. @throws UserError */
export function parseRate(option: string, text: string): number {
  const value = parse(option, text, bitRate);
  if (value < 8)
    throw new UserError('USAGE', `--${option} ${text} is less than a byte per second`, {
      hint: `such as --${option} ${bitRate.example}`,
    });
  return value;
}

/** Parses a duration of at most a day into milliseconds. @throws UserError */
export function parseDuration(option: string, text: string): number {
  const value = parse(option, text, duration);
  if (value > 86_400_000)
    throw new UserError('USAGE', `--${option} ${text} is longer than a day`, {
      hint: `such as --${option} ${duration.example}`,
    });
  return value;
}

/** Parses a share between 0 and 1. @throws UserError */
export function parseShare(option: string, text: string): number {
  const value = parse(option, text, share);
  if (value > 1)
    throw new UserError('USAGE', `--${option} ${text} is more than everything`, {
      hint: `write a share such as --${option} 1% or --${option} 0.01`,
    });
  return value;
}

/** Splits a share and a second value at their comma. @throws UserError */
export function parsePair(option: string, text: string, example: string): [string, string] {
  const [first, second, more] = text.split(',');
  if (first === undefined || second === undefined || more !== undefined)
    throw new UserError('USAGE', `--${option} ${text} needs two values with a comma`, {
      hint: `such as --${option} ${example}`,
    });
  return [first, second];
}

/** Parses a queue's limit in bytes, or in packets of any size (`50p`). @throws UserError */
export function parseQueue(option: string, text: string): { queueBytes: number; queuePackets?: number } {
  if (!/^\d+p$/.test(text)) return { queueBytes: Math.round(parse(option, text, queue)) };
  return { queueBytes: Number.MAX_SAFE_INTEGER, queuePackets: Number.parseInt(text, 10) };
}
