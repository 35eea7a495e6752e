import { z } from 'zod';
import { buildNativeBench } from '../process/cmake.js';
import { parseJsonLines } from '../process/json_lines.js';
import { runProgram } from '../process/run_program.js';

/** How packets are proven, with the names that `multicast_bench` has for it */
export const AUTHENTICATIONS = [
  'none',
  'signed',
  'signed-inline',
  'timed',
  'per-packet',
  'per-stream',
  'tags',
] as const;
export type Authentication = (typeof AUTHENTICATIONS)[number];

/** A channel, or with `unicast` a connection for each receiver */
export interface MulticastCase {
  delivery: 'unicast' | 'channel';
  authentication: Authentication;
  receivers: number;
  /** Packets that source and receivers keep */
  window: number;
  /** One packet of so many is lost, and repaired; 0: none */
  loss_distance: number;
  /** Size of each group */
  object_bytes: number;
}

const count = z.number().int().min(0);
const nanoseconds = z.number().min(0);

/** A line of `multicast_bench`. Times are for all bytes of a round; those of unicast are for all receivers at the source. */
export const costSchema = z.object({
  round: count,
  delivery: z.enum(['unicast', 'channel']),
  authentication: z.enum(AUTHENTICATIONS).default('none'),
  receivers: count,
  window: count.default(0),
  loss_distance: count.default(0),
  object_bytes: count.default(0),
  bytes: count,
  /** Bytes that the receiver read in the round, of this one or those before */
  read: count,
  packets: count,
  recovered: count.default(0),
  repairs: count.default(0),
  source_ns: nanoseconds,
  source_reports_ns: nanoseconds,
  source_helper_ns: nanoseconds.default(0),
  receiver_ns: nanoseconds,
  receiver_reports_ns: nanoseconds,
  receiver_helper_ns: nanoseconds.default(0),
});
export type Cost = z.output<typeof costSchema>;

export const unicast = (receivers: number): MulticastCase => ({
  delivery: 'unicast',
  authentication: 'none',
  receivers,
  window: 0,
  loss_distance: 0,
  object_bytes: 0,
});

export const channel = (
  authentication: Authentication,
  receivers: number,
  { window = 2000, loss_distance = 0, object_bytes = 1_000_000 } = {},
): MulticastCase => ({ delivery: 'channel', authentication, receivers, window, loss_distance, object_bytes });

/** Names the case; a sample has the same name. */
export const nameOf = (each: MulticastCase): string =>
  each.delivery === 'unicast'
    ? `unicast ${each.receivers}`
    : `channel ${each.authentication} ${each.receivers} ${each.window} ${each.loss_distance} ${each.object_bytes}`;

export interface CostOptions {
  rounds: number;
  bytes: number;
  seed: number;
}

/** Measures cases in turns, each in every round. @throws UserError when tools are missing or the program fails */
export async function measureCosts(
  cases: readonly MulticastCase[],
  { rounds, bytes, seed }: CostOptions,
  progress: (line: string) => void,
): Promise<Cost[]> {
  const program = await buildNativeBench('multicast_bench', progress);
  progress(`${cases.length} cases, ${rounds} rounds`);
  const output = await runProgram(program, [rounds, bytes, seed].map(String), {
    input: `${cases.map(nameOf).join('\n')}\n`,
  });
  return parseJsonLines(output, costSchema);
}

/** Gigabits of application data per second of processor time, with that of helper threads or without it */
export const goodput = {
  source: ({ bytes, source_ns, source_helper_ns }: Cost): number => (bytes * 8) / (source_ns + source_helper_ns),
  source_thread: ({ bytes, source_ns }: Cost): number => (bytes * 8) / source_ns,
  receiver: ({ bytes, receiver_ns, receiver_helper_ns }: Cost): number =>
    (bytes * 8) / (receiver_ns + receiver_helper_ns),
  receiver_thread: ({ bytes, receiver_ns }: Cost): number => (bytes * 8) / receiver_ns,
} as const;
export type Side = keyof typeof goodput;
export const SIDES = Object.keys(goodput) as Side[];
