import { errorMessage } from '@sheaf/gateway';
import type { ExperimentContext, Outcome } from '../../experiment.js';
import { describeMachine } from '../../measure/machine.js';
import { missedMarks } from '../../measure/marks.js';
import { measureLaboratory, type MeasuredRounds, type Skipped, type Watch } from '../../measure/measured_rounds.js';
import { untilInterrupted } from '../../process/until_interrupted.js';
import { judgeTunnels } from './findings.js';
import {
  describeFloodPlan,
  describeFloodSample,
  floodRows,
  judgeFlood,
  withFloodLaboratory,
  type FloodPlan,
  type FloodSample,
} from './flood.js';
import { measureIdle, type IdleTunnels } from './idle_tunnels.js';
import { describeSample, whyNoMasque, withLaboratory, withServedSite } from './laboratory.js';
import type { ServedSite } from './measured_downloads.js';
import { ARM_NAMES, describePlan, type Plan, type Sample } from './plans.js';
import { tunnelRows } from './rows.js';
import { tunnelTables } from './tables.js';

/** What is measured: an arm of downloads, downloads beside a flood, or the memory of idle tunnels */
export const REAL_CASES = [...ARM_NAMES, 'flood', 'idle'] as const;

export interface RealTunnelsOptions {
  cases: readonly (typeof REAL_CASES)[number][];
  runs: number;
  /** All downloads of a run together */
  bytes: number;
  /** Numbers of downloads at one time */
  clients: readonly number[];
  /** Shares of one processor that the proxy of downloads may use; 1: it is not limited */
  quotas: readonly number[];
  /** Datagrams of a flood */
  datagrams: number;
  /** Tunnels that are idle */
  tunnels: number;
}

/** Runs `bench tunnels --real`. After Ctrl-C, returns what was measured. @throws UserError */
export async function runRealTunnels(
  { check, ...parameters }: RealTunnelsOptions & { check: boolean },
  { progress }: ExperimentContext,
): Promise<Outcome> {
  const machine = describeMachine();
  const { downloads, beside, idle } = await untilInterrupted(
    () => progress('stopping'),
    (stop) =>
      withServedSite(parameters, async (served) => ({
        downloads: await measureArms(served, parameters, { progress, stop }),
        beside: await measureFloods(served, parameters, { progress, stop }),
        idle: await measureIdleTunnels(served, parameters, { progress, stop }),
      })),
  );
  const rows = tunnelRows(downloads.measured, parameters.bytes);
  const flood = floodRows(beside.measured);
  const findings = [...judgeTunnels(rows), ...judgeFlood(flood)];
  const skipped = [...downloads.skipped, ...beside.skipped, ...idle.skipped];
  const report = {
    experiment: 'tunnels',
    machine,
    parameters,
    tunnels: rows,
    flood,
    ...(idle.tunnels && { idle: idle.tunnels }),
    findings,
    versions: downloads.versions,
    skipped,
  };
  return {
    report,
    tables: tunnelTables({ rows, flood, idle: idle.tunnels }, findings, skipped),
    ...(check && missedMarks(findings)),
  };
}

const nothing = <P, S>(skipped: Skipped[] = []): MeasuredRounds<P, S> => ({ measured: [], skipped, versions: {} });

async function measureArms(
  served: ServedSite,
  { cases, runs, ...options }: RealTunnelsOptions,
  watch: Watch,
): Promise<MeasuredRounds<Plan, Sample>> {
  const arms = ARM_NAMES.filter((arm) => cases.includes(arm));
  if (arms.length === 0) return nothing();
  return measureLaboratory<Plan, Sample>(
    (own, work) => withLaboratory(served, { ...options, arms }, own, work),
    { runs, describe: describePlan, describeSample: (sample) => describeSample(sample, options.bytes) },
    watch,
  );
}

async function measureFloods(
  served: ServedSite,
  { cases, runs, datagrams }: RealTunnelsOptions,
  watch: Watch,
): Promise<MeasuredRounds<FloodPlan, FloodSample>> {
  const reason = whyNoMasque();
  if (!cases.includes('flood') || watch.stop.aborted) return nothing();
  if (reason !== undefined) return nothing([{ what: 'flood', reason }]);
  return measureLaboratory<FloodPlan, FloodSample>(
    ({ stop }, work) => withFloodLaboratory(served, { datagrams, runs }, stop, work),
    { runs, describe: describeFloodPlan, describeSample: describeFloodSample },
    watch,
  );
}

async function measureIdleTunnels(
  served: ServedSite,
  { cases, tunnels }: RealTunnelsOptions,
  { progress, stop }: Watch,
): Promise<{ tunnels?: IdleTunnels; skipped: Skipped[] }> {
  if (!cases.includes('idle') || stop.aborted) return { skipped: [] };
  progress(`opening ${tunnels} tunnels`);
  return measureIdle(served, tunnels, stop).then(
    (measured) => ({ tunnels: measured, skipped: [] }),
    (error: unknown) => ({ skipped: stop.aborted ? [] : [{ what: 'idle', reason: errorMessage(error) }] }),
  );
}
