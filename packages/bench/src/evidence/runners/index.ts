import { UserError } from '@sheaf/gateway';
import { pagesBrowser } from './pages_browser.js';
import { pagesSimulation } from './pages_simulation.js';
import { handOver } from './hand_over.js';
import { multiEndFaultSimulation } from './multi_end_fault_simulation.js';
import { multiEndTransfers } from './multi_end_transfers.js';
import { streamSchedulers } from './stream_schedulers.js';
import { multiEndProcesses } from './multi_end_processes.js';
import { multiEndFaults } from './multi_end_faults.js';
import { multiEndSimulation } from './multi_end_simulation.js';
import { directReturnProcesses } from './direct_return_processes.js';
import { directReturnFairness } from './direct_return_fairness.js';
import { directReturnDelays } from './direct_return_delays.js';
import { directReturnFaults } from './direct_return_faults.js';
import { directReturnFaultSimulation } from './direct_return_fault_simulation.js';
import { directReturnNumbers } from './direct_return_numbers.js';
import { directReturnSimulation } from './direct_return_simulation.js';
import { engine } from './engine.js';
import { http } from './http.js';
import { multicastCosts } from './multicast_costs.js';
import { multicastReal } from './multicast_real.js';
import { multicastTrees } from './multicast_trees.js';
import { pathsFailover } from './paths_failover.js';
import { pathsLoopback } from './paths_loopback.js';
import { pathsSimulation } from './paths_simulation.js';
import { tunnelsFlood } from './tunnels_flood.js';
import { tunnelsReal } from './tunnels_real.js';
import { tunnelsSharing } from './tunnels_sharing.js';
import { tunnelsSimulation } from './tunnels_simulation.js';
import type { Runner } from './runner.js';

const runners: readonly Runner[] = [
  directReturnProcesses,
  directReturnFairness,
  directReturnDelays,
  directReturnFaults,
  directReturnFaultSimulation,
  directReturnNumbers,
  directReturnSimulation,
  engine,
  handOver,
  http,
  multiEndFaultSimulation,
  multiEndFaults,
  multiEndProcesses,
  multiEndSimulation,
  multiEndTransfers,
  multicastCosts,
  multicastReal,
  multicastTrees,
  pagesBrowser,
  pagesSimulation,
  pathsFailover,
  pathsLoopback,
  pathsSimulation,
  streamSchedulers,
  tunnelsFlood,
  tunnelsReal,
  tunnelsSharing,
  tunnelsSimulation,
];

/** Returns a runner. @throws UserError when none has the name */
export function runnerNamed(name: string): Runner {
  const found = runners.find((runner) => runner.name === name);
  if (found) return found;
  throw new UserError('BENCH_FAILED', `there is no runner '${name}'`, {
    hint: `there are: ${runners.map((runner) => runner.name).join(', ')}`,
  });
}
