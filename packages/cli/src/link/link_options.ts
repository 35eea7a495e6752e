import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { systemErrorCode, UserError } from '@sheaf/gateway';
import type { LinkOptions } from '@sheaf/native';
import { parseDuration, parsePair, parseQueue, parseRate, parseShare } from './quantities.js';

/**
 * Options of the command line that describe a link: each once for both directions, or once for there and once for back
 */
export interface LinkFlags {
  rate: string[] | undefined;
  trace: string[] | undefined;
  delay: string[] | undefined;
  jitter: string[] | undefined;
  jitterCorrelation: string[] | undefined;
  loss: string[] | undefined;
  lossCorrelation: string[] | undefined;
  burstLoss: string[] | undefined;
  duplicate: string[] | undefined;
  reorder: string[] | undefined;
  queue: string[] | undefined;
  queueDiscipline: string[] | undefined;
}

/** Converts the written `value` of one option into settings of the link. */
type Reader = (option: string, value: string, cwd: string) => LinkOptions | Promise<LinkOptions>;

const readers: Record<keyof LinkFlags, Reader> = {
  rate: (option, value) => ({ rate: parseRate(option, value) }),
  trace: async (option, value, cwd) => ({ trace: await readTrace(option, value, cwd) }),
  delay: (option, value) => ({ delayMs: parseDuration(option, value) }),
  jitter: (option, value) => ({ jitterMs: parseDuration(option, value) }),
  jitterCorrelation: (option, value) => ({ jitterCorrelation: parseShare(option, value) }),
  loss: (option, value) => ({ loss: parseShare(option, value) }),
  lossCorrelation: (option, value) => ({ lossCorrelation: parseShare(option, value) }),
  burstLoss: (option, value) => ({ burstLoss: parseBurstLoss(option, value) }),
  duplicate: (option, value) => ({ duplication: parseShare(option, value) }),
  reorder: (option, value) => {
    const [share, delay] = parsePair(option, value, '1%,10ms');
    return { reordering: parseShare(option, share), reorderingDelayMs: parseDuration(option, delay) };
  },
  queue: parseQueue,
  queueDiscipline: (_option, value) => ({ queueDiscipline: value === 'codel' ? 'codel' : 'drop-tail' }),
};

/** Returns both directions of the link. @throws UserError */
export async function linkOptions(flags: LinkFlags, cwd: string): Promise<{ there: LinkOptions; back: LinkOptions }> {
  if (flags.rate && flags.trace)
    throw new UserError('USAGE', '--rate and --trace exclude each other', {
      hint: 'the trace says how much the link carries',
    });
  const directions: [LinkOptions, LinkOptions] = [{}, {}];
  for (const name of Object.keys(readers) as (keyof LinkFlags)[]) {
    const option = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const values = flags[name] ?? [];
    if (values.length > 2)
      throw new UserError('USAGE', `--${option} is given ${values.length} times`, {
        hint: 'once for both directions, or once for there and once for back',
      });
    for (const [index, direction] of directions.entries()) {
      const value = values[index] ?? values[0];
      if (value !== undefined) Object.assign(direction, await readers[name](option, value, cwd));
    }
  }
  return { there: directions[0], back: directions[1] };
}

function parseBurstLoss(option: string, value: string): { share: number; length: number } {
  const [share, length] = parsePair(option, value, '2%,10');
  const burstLoss = { share: parseShare(option, share), length: Number(length) };
  if (burstLoss.share > 0.99)
    throw new UserError('USAGE', `--${option} ${value} loses more than 99 %`, {
      hint: 'use --loss 100%, or --down-at',
    });
  if (!(burstLoss.length >= 1))
    throw new UserError('USAGE', `--${option} ${value}: the mean length of a burst is a number from 1`, {
      hint: `such as --${option} 2%,10`,
    });
  return burstLoss;
}

async function readTrace(option: string, value: string, cwd: string): Promise<string> {
  const text = await readFile(resolve(cwd, value), 'utf8').catch((error: unknown) => {
    throw new UserError('USAGE', `--${option} ${value} cannot be read (${systemErrorCode(error) ?? 'unknown error'})`, {
      hint: 'name a file with one millisecond timestamp per line',
      cause: error,
    });
  });
  if (text.trim() === '')
    throw new UserError('USAGE', `--${option} ${value} is empty`, {
      hint: 'write one millisecond timestamp per line, each for 1500 bytes',
    });
  return text;
}
