import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { UserError } from '@sheaf/gateway';

/** Ticks that Linux counts for programs, whatever its own clock (USER_HZ) */
const TICKS_PER_SECOND = 100;

/**
 * Returns the processor time in seconds that these processes have used so far, over all threads, in user and in system
 * (proc(5)). Its unit is 10 ms. @throws UserError
 */
export function processorSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + ofProcess(pid), 0);
}

/**
 * Returns the same with nanoseconds, for short measurements. Leaves out threads that have ended: only differences between
 * readings of a process that keeps its threads mean something. @throws UserError
 */
export function finerProcessorSeconds(pids: readonly number[]): number {
  requireLinux();
  if (!existsSync('/proc/self/schedstat'))
    throw new UserError('BENCH_UNAVAILABLE', 'this kernel does not count the processor time of threads', {
      hint: 'run it on a kernel with CONFIG_SCHED_INFO',
    });
  return pids.flatMap(threadsOf).reduce((sum, thread) => sum + ofThread(thread), 0);
}

/** Returns the processor time in seconds of the children that a process has waited for. Its unit is 10 ms. @throws UserError */
export function endedChildrenSeconds(pid: number): number {
  const [, , user, system] = timesOf(pid);
  return (user + system) / TICKS_PER_SECOND;
}

const threadsOf = (pid: number): string[] => readdirSync(`/proc/${pid}/task`).map((id) => `/proc/${pid}/task/${id}`);

/** Returns 0 for a thread that has just ended. */
function ofThread(directory: string): number {
  try {
    return Number(readFileSync(`${directory}/schedstat`, 'latin1').split(' ')[0]) / 1e9;
  } catch {
    return 0;
  }
}

function ofProcess(pid: number): number {
  const [user, system] = timesOf(pid);
  return (user + system) / TICKS_PER_SECOND;
}

/** Returns ticks: in user and in system mode, of the process, then of its children that have ended. */
function timesOf(pid: number): [user: number, system: number, childrenUser: number, childrenSystem: number] {
  requireLinux();
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name in parentheses may contain anything. utime to cstime are fields 14 to 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = fields.slice(11, 15).map(Number);
  return [user, system, childrenUser, childrenSystem];
}

function requireLinux(): void {
  if (process.platform !== 'linux')
    throw new UserError('BENCH_UNAVAILABLE', 'processor time of other processes is read from /proc, which is Linux', {
      hint: 'run it on Linux',
    });
}
