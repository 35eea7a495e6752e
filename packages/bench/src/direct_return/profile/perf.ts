import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { capture } from '../../process/run_program.js';
import { parseStacks, type Frame } from './shares.js';

/** Samples per second of processor time. No divisor of the timers' rates, so that no timer is met again and again. */
const RATE = 999;

/** Returns why processes cannot be sampled here; undefined where they can be. */
export async function whyNotSampled(): Promise<string | undefined> {
  const works = await capture('perf', ['stat', '-e', 'cpu-clock', 'true']);
  return works === undefined
    ? 'perf is missing or may not watch processes (apt-get install linux-perf, as root)'
    : undefined;
}

/** Samples the stacks of a process for so many seconds. @throws UserError */
export async function sampleStacks(pid: number, seconds: number): Promise<Frame[][]> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-perf-'));
  try {
    const file = join(directory, 'perf.data');
    const of = ['--pid', String(pid), '--event', 'cpu-clock', '--freq', String(RATE), '--call-graph', 'dwarf,4096'];
    const recorded = await capture('perf', [
      'record',
      '--quiet',
      '--output',
      file,
      ...of,
      '--',
      'sleep',
      String(seconds),
    ]);
    const printed =
      recorded === undefined
        ? undefined
        : await capture('perf', ['script', '--no-inline', '-i', file, '-F', 'ip,sym,dso']);
    if (printed === undefined)
      throw new UserError('BENCH_FAILED', 'perf recorded nothing', {
        hint: 'run it as root, with perf for this kernel',
      });
    return parseStacks(printed);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
