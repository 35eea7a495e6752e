import { availableParallelism } from 'node:os';
import { z } from 'zod';

/** As many as one byte of a connection id can divide evenly enough */
export const mostWorkers = 64;

export const workersOption = z
  .union([z.literal('auto'), z.number().int().min(1).max(mostWorkers)])
  .optional()
  .describe(
    'Threads that serve clients, each with connections of its own: a number, or `auto` for one per core. All of them share the ports, the limits and the configuration. Without it, the main thread serves them, and no other process can take over (`sheaf upgrade`).',
  );

export type WorkersOption = z.output<typeof workersOption>;

/** Whether a node is served by threads of its own, so that another process can take over its sockets. */
export function hasWorkers({ workers }: { workers?: WorkersOption }): boolean {
  return workers !== undefined;
}

/** Returns the number of threads that serve the clients of a node on this machine. */
export function workerCount({ workers = 1 }: { workers?: WorkersOption }): number {
  return workers === 'auto' ? Math.min(mostWorkers, availableParallelism()) : workers;
}
