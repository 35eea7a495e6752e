import { workKinds } from './load.js';
import type { FaultReport } from './run_fault.js';

/** Returns what happened that must not, whatever the speed of the machine. */
export function judgeFleet(first: number | null, reports: readonly FaultReport[]): string[] {
  const problems = first === null ? ['the nodes did not find each other'] : [];
  for (const { fault, downloads, connections, agree_ms: agree, requests } of reports) {
    const died = Object.keys(connections.died);
    if (downloads.lost > 0) problems.push(`${fault}: ${downloads.lost} bytes were lost`);
    if (died.length > 0) problems.push(`${fault}: connections of living gateways ended (${died.join(', ')})`);
    if (agree.end === null) problems.push(`${fault}: the nodes did not agree again`);
    for (const kind of workKinds) if (requests[kind].done === 0) problems.push(`${fault}: no ${kind} succeeded`);
  }
  return problems;
}
