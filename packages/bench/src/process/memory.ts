import { readFile } from 'node:fs/promises';

/** Returns the resident memory of a process, in MiB. */
export const residentMebibytes = (pid: number): Promise<number> => sizeOf(pid, 'VmRSS');

/** Returns the most memory of a process that was resident at one time, in MiB. */
export const peakMebibytes = (pid: number): Promise<number> => sizeOf(pid, 'VmHWM');

/** Reads a size of a process (proc(5)). */
async function sizeOf(pid: number, name: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) / 1024;
}
