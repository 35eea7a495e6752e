import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Experiment, ExperimentContext, Outcome, ResultTable } from '../experiment.js';
import { describeMachine } from '../measure/machine.js';
import { faults, faultsRandom, type Fault } from './faults.js';
import { FleetUnderLoad, type FleetBenchOptions } from './fleet_under_load.js';
import type { ForwardedDatagrams } from './forwarding_totals.js';
import { natsProgram } from './nats_cluster.js';
import { judgeFleet } from './judge_fleet.js';
import { runFault, type FaultReport } from './run_fault.js';
import { workKinds } from './load.js';

const optionsSchema = z.strictObject({
  seconds: z.coerce.number().min(1).max(600).default(10),
  seed: z.coerce.number().int().min(0).default(1),
});

/** Idle time of connections in seconds: the default of a gateway */
const idle = 30;
const bytes = 4_000_000;

export interface FleetReport {
  /** Milliseconds after the start of the nodes until all agreed; null: they did not */
  first_agree_ms: number | null;
  faults: FaultReport[];
  balancer: {
    /** Datagrams by gateway */
    datagrams: Record<string, number>;
    /** Those that gateways passed on to each other before the first fault */
    forwarded_before: ForwardedDatagrams;
  };
  problems: string[];
}

/** Three gateways, three backends and three servers of NATS behind a balancer that sprays datagrams, and faults of each. */
export const fleetBench: Experiment = {
  name: 'fleet',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, context): Promise<Outcome> {
    const parameters = { ...optionsSchema.parse(rawOptions), idle, bytes };
    natsProgram();
    const machine = describeMachine();
    const measured = await runFleet(parameters, context);
    const report = { experiment: 'fleet', machine, parameters, ...measured };
    const failure = measured.problems.length > 0 ? { failure: measured.problems.join('; ') } : {};
    return { report, tables: tablesOf(measured), ...failure };
  },
};

/** Starts a fleet, lets faults happen one after the other, and stops it. @throws UserError */
export async function runFleet(
  options: FleetBenchOptions,
  { progress }: ExperimentContext,
  happening: readonly Fault[] = faults,
): Promise<FleetReport> {
  const fleet = await FleetUnderLoad.start(options, progress);
  try {
    await sleep(options.seconds * 1_000);
    await fleet.forwarding.sample();
    const before = fleet.forwarding.take();
    const random = faultsRandom(options.seed);
    const reports: FaultReport[] = [];
    for (const fault of happening) {
      progress(fault.name);
      reports.push(await runFault(fleet, fault, random));
    }
    const first = fleet.firstAgreement ?? null;
    return {
      first_agree_ms: first,
      faults: reports,
      balancer: { datagrams: await fleet.sprayed(), forwarded_before: before },
      problems: judgeFleet(first, reports),
    };
  } finally {
    await fleet.stop();
  }
}

function tablesOf({ faults: reports, balancer, first_agree_ms: first }: FleetReport): ResultTable[] {
  const { sent, received, dropped, refused } = balancer.forwarded_before;
  return [
    {
      head: ['fault', 'of', 'lasted ms', 'requests', 'failed', 'recovered ms', 'agree ms: begin', 'end'],
      rows: reports.map((report) => {
        const works = workKinds.map((kind) => report.requests[kind]);
        const sum = (of: 'done' | 'failed'): number => works.reduce((total, counts) => total + counts[of], 0);
        const { lasted_ms: lasted, recovered_ms: recovered, agree_ms: agree } = report;
        const cells = [lasted, sum('done'), sum('failed'), recovered, agree.begin ?? '', agree.end ?? 'never'];
        return [report.fault, report.of.join(' '), ...cells.map(String)];
      }),
      notes: [`all nodes agreed ${first} ms after their start`],
    },
    {
      head: ['fault', 'bytes', 'lost', 'repeated', 'resumed', 'opened', 'given up', 'with gateway', 'after ms', 'died'],
      rows: reports.map(({ fault, downloads, connections }) => {
        const after = connections.with_gateway.after_ms;
        const died = Object.values(connections.died).reduce((total, count) => total + count, 0);
        const { bytes: received, lost, repeated, resumed } = downloads;
        const range = after.length > 0 ? `${after[0]} to ${after.at(-1)}` : '';
        const cells = [received, lost, repeated, resumed, connections.opened, connections.given_up, after.length];
        return [fault, ...cells.map(String), range, String(died)];
      }),
      notes: [
        `datagrams of the balancer: ${Object.entries(balancer.datagrams)
          .map(([name, count]) => `${name} ${count}`)
          .join(', ')}`,
        `passed on between gateways before the faults: ${sent} sent, ${received} received, ${dropped} dropped, ${refused} refused`,
      ],
    },
  ];
}
