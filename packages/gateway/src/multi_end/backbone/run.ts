import { randomBytes } from 'node:crypto';
import { runBytes } from './messages.js';

/** Parts of the id of a run: what no other run has, what the workers of a process have in common, and the number of the worker */
const ownBytes = 8;
export const processIdBytes = 6;

/** One of several workers of a process */
export interface WorkerOfProcess {
  /** Random id that all of them have, of `processIdBytes` */
  process: Uint8Array;
  index: number;
}

/** Makes a random id for this process, or for this run of one of its workers. */
export function newRun(worker?: WorkerOfProcess): Buffer {
  const run = randomBytes(runBytes);
  if (!worker) return run;
  run.set(worker.process, ownBytes);
  run.writeUInt16BE(worker.index, ownBytes + processIdBytes);
  return run;
}

/** Whether two runs, in hexadecimal, are different workers of one process. */
export function areSiblings(one: string, other: string): boolean {
  const processOf = (run: string): string => run.slice(2 * ownBytes, 2 * (ownBytes + processIdBytes));
  const workerOf = (run: string): string => run.slice(2 * (ownBytes + processIdBytes));
  return processOf(one) === processOf(other) && workerOf(one) !== workerOf(other);
}
