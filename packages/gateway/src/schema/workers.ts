import { availableParallelism } from 'node:os';
import { z } from 'zod';

/** As many as one byte of a connection id can divide evenly enough */
export const mostWorkers = 64;

export const workersOption = z
  .union([z.literal('auto'), z.number().int().min(1).max(mostWorkers)])
  .default(1)
  .describe(
    'Threads that serve clients, each with connections of its own: a number, or `auto` for one per core. All of them share the ports, the limits and the configuration.',
  );

export type WorkersOption = z.output<typeof workersOption>;

/** Returns the number of threads that serve the clients of a node on this machine. */
export function workerCount({ workers }: { workers: WorkersOption }): number {
  return workers === 'auto' ? Math.min(mostWorkers, availableParallelism()) : workers;
}
