import { transferRunSchema, type TransferRun } from '../../multi_end/simulation/runs.js';
import { describeSetting, type Topology, type TransferSetting } from '../../multi_end/simulation/setting.js';
import { parseJsonLines } from '../../process/json_lines.js';
import { runProgram } from '../../process/run_program.js';
import type { RunContext } from './runner.js';

/** Transfers that are requested at once */
export interface SimulatedTransfers {
  delivery: 'direct' | 'proxied';
  /** `cold` includes hand-over and path validation; `warm` starts with validated paths. */
  start: 'warm' | 'cold';
  topology: Topology;
  transfers: readonly TransferSetting[];
}

/** Simulates transfers, once for each seed. @throws UserError when the program fails */
export async function simulateTransfers(
  program: string,
  { delivery, start, topology, transfers }: SimulatedTransfers,
  { seed, runs }: Pick<RunContext, 'seed' | 'runs'>,
): Promise<TransferRun[]> {
  const output = await runProgram(program, ['transfers', delivery, start, String(seed), String(runs)], {
    input: describeSetting(topology, transfers),
  });
  return parseJsonLines(output, transferRunSchema);
}
