import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../pages/content/random.js';
import { timeToAgree } from './agreement.js';
import type { Closing } from './connections.js';
import type { DownloadCounts } from './downloads.js';
import type { Fault } from './faults.js';
import { agreeMs, type FleetUnderLoad } from './fleet_under_load.js';
import type { ForwardedDatagrams } from './forwarding_totals.js';
import { workKinds, type WorkCounts, type WorkKind } from './load.js';

/** Milliseconds beyond the idle time for clients to notice that their gateway is gone */
const noticeMs = 10_000;

export interface FaultReport {
  fault: string;
  of: readonly string[];
  /** How long it lasted, without the time to start processes again */
  lasted_ms: number;
  requests: Record<WorkKind, WorkReport>;
  downloads: DownloadCounts;
  connections: ConnectionsReport;
  /** Time from its begin, and from when processes are started again, until all living nodes agreed; null: not asked, or never */
  agree_ms: { begin: number | null; end: number | null };
  /** Time from its begin until the last request succeeded that had failed */
  recovered_ms: number;
  forwarded: ForwardedDatagrams;
}

export interface WorkReport extends Omit<WorkCounts, 'recoveredAt'> {
  /** Time from the begin of the fault until the last one succeeded that had failed */
  recovered_ms: number;
}

export interface ConnectionsReport {
  opened: number;
  /** Given up by clients though their gateway lived */
  given_up: number;
  /** Ended by the transport, with a gateway that was killed: how soon, and by what */
  with_gateway: { after_ms: number[]; by: Record<string, number> };
  /** Ended by the transport though their gateway lived: by what */
  died: Record<string, number>;
}

/** Lets a fault happen to a fleet under load, and measures what it costs until everything is as before. */
export async function runFault(fleet: FleetUnderLoad, fault: Fault, random: Random): Promise<FaultReport> {
  const { seconds, idle } = fleet.options;
  const pauseMs = seconds * 1_000;
  await fleet.watchers.fill();
  const prepared = await fault.prepare(fleet, random);
  await fleet.forwarding.sample();
  const { closings } = fleet.connections;
  const [before, openedBefore, givenUpBefore] = [closings.length, fleet.connections.opened, fleet.connections.givenUp];
  fleet.load.takeWork();
  fleet.load.takeDownloads();
  const { node } = prepared;
  const living = fleet.all.filter((each) => each !== node);
  const began = performance.now();
  await prepared.begin();
  const agreeing =
    fault.brief || fault.withoutRegistry
      ? Promise.resolve(undefined)
      : timeToAgree({ living, dead: node ? [node] : [] }, began, agreeMs);
  if (!fault.brief) await sleep(pauseMs);
  const atBegin = await agreeing;
  if (fault.untilNoticed && node) await fleet.watchers.untilClosed(node, idle * 1_000 + noticeMs);
  const ended = performance.now();
  await prepared.end();
  const atEnd = await timeToAgree({ living: fleet.all }, ended, agreeMs);
  await sleep(pauseMs);
  await fleet.forwarding.sample();
  const requests = worksOf(fleet.load.takeWork(), began);
  return {
    fault: fault.name,
    of: prepared.of,
    lasted_ms: Math.round(ended - began),
    requests,
    downloads: fleet.load.takeDownloads(),
    connections: {
      opened: fleet.connections.opened - openedBefore,
      given_up: fleet.connections.givenUp - givenUpBefore,
      ...closingsOf(closings.slice(before), began),
    },
    agree_ms: { begin: atBegin ?? null, end: atEnd ?? null },
    recovered_ms: Math.max(...workKinds.map((kind) => requests[kind].recovered_ms)),
    forwarded: fleet.forwarding.take(),
  };
}

function worksOf(work: Record<WorkKind, WorkCounts>, began: number): Record<WorkKind, WorkReport> {
  const of = ({ recoveredAt, ...counts }: WorkCounts): WorkReport => ({
    ...counts,
    recovered_ms: Math.max(0, Math.round(recoveredAt - began)),
  });
  return {
    files: of(work.files),
    backends: of(work.backends),
    connects: of(work.connects),
    downloads: of(work.downloads),
  };
}

function closingsOf(closings: readonly Closing[], began: number): Pick<ConnectionsReport, 'with_gateway' | 'died'> {
  const expected = closings.filter(({ withGateway }) => withGateway);
  return {
    with_gateway: {
      after_ms: expected.map(({ at }) => Math.round(at - began)).sort((a, b) => a - b),
      by: countsByReason(expected),
    },
    died: countsByReason(closings.filter(({ withGateway }) => !withGateway)),
  };
}

function countsByReason(closings: readonly Closing[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { reason } of closings) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}
