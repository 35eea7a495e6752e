import { readFileSync } from 'node:fs';
import { UserError } from '@sheaf/gateway';

/** Ticks that Linux counts for programs, whatever its own clock (USER_HZ) */
const TICKS_PER_SECOND = 100;

/**
 * Returns the processor time in seconds that these processes have used so far, over all threads, in user and in system
 * (proc(5)). @throws UserError
 */
export function processorSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + ofProcess(pid), 0);
}

function ofProcess(pid: number): number {
  if (process.platform !== 'linux')
    throw new UserError('BENCH_UNAVAILABLE', 'processor time of other processes is read from /proc, which is Linux', {
      hint: 'run it on Linux',
    });
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name in parentheses may contain anything. utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
