import type { ResultTable } from '../experiment.js';
import { distribution, median, round } from '../measure/statistics.js';
import { channel, goodput, nameOf, SIDES, unicast, type Cost, type MulticastCase, type Side } from './cases.js';

/** Windows of the repairs, in packets */
const WINDOWS = [100, 1000, 10_000];
/** One packet of so many is lost: 1 % */
const LOSS_DISTANCE = 100;

/** One figure for each side */
type Figures = Record<Side, number>;

export interface CostCell extends MulticastCase {
  /** Gbit/s; `..._thread` leaves the time of helper threads out */
  goodput: Figures;
  /** Quartiles of `goodput` */
  quartiles: Record<Side, [number, number]>;
  /** Share of the goodput of unicast with one client, in the same round */
  to_unicast: Figures;
  /** Share of the goodput of unicast with as many clients, where that was measured */
  to_same_unicast?: Figures;
  /** Share of the goodput of the channel without authentication and without repairs */
  to_plain: Figures;
  /** Nanoseconds for 1,000 bytes: of helper threads, and of reports and acknowledgements */
  helper_ns_per_kb: { source: number; receiver: number };
  reports_ns_per_kb: { source: number; receiver: number };
  repairs: number;
  recovered: number;
}

export interface CostFinding {
  claim: string;
  required: number;
  measured: number;
  holds: boolean;
}

/** Returns the cases of the experiment for these numbers of receivers. One receiver is always among them. */
export function casesFor(given: readonly number[]): MulticastCase[] {
  const receivers = [...new Set([1, ...given])].sort((left, right) => left - right);
  return [
    ...receivers.map(unicast),
    ...receivers.map((count) => channel('none', count)),
    ...(['signed', 'signed-inline', 'timed', 'per-packet', 'per-stream'] as const).map((scheme) => channel(scheme, 1)),
    ...receivers.map((count) => channel('tags', count)),
    ...receivers.filter((count) => count > 1).flatMap((count) => [channel('signed', count), channel('timed', count)]),
    ...WINDOWS.flatMap((window) => [
      channel('none', 2, { window }),
      channel('none', 2, { window, loss_distance: LOSS_DISTANCE }),
    ]),
  ];
}

/** Summarizes all rounds, in the order of the cases. @throws RangeError when unicast with one client is missing */
export function summarizeCosts(cases: readonly MulticastCase[], costs: readonly Cost[]): CostCell[] {
  const byName = new Map<string, Cost[]>();
  for (const cost of costs) byName.set(nameOf(cost), [...(byName.get(nameOf(cost)) ?? []), cost]);
  const one = byName.get(nameOf(unicast(1)));
  if (!one) throw new RangeError('unicast with one client was not measured');
  return cases.flatMap((each) => {
    const samples = byName.get(nameOf(each)) ?? [];
    const [first] = samples;
    if (!first) return [];
    const same = byName.get(nameOf(unicast(first.receivers)));
    return [cellOf(samples, first, { one, same, plain: byName.get(nameOf(plainOf(first))) ?? samples })];
  });
}

/** The channel without what is measured, or unicast itself */
const plainOf = (each: MulticastCase): MulticastCase =>
  each.delivery === 'unicast'
    ? each
    : { ...each, authentication: 'none', loss_distance: 0, ...(each.loss_distance === 0 && { receivers: 1 }) };

function cellOf(
  samples: readonly Cost[],
  { delivery, authentication, receivers, window, loss_distance, object_bytes }: Cost,
  { one, same, plain }: { one: readonly Cost[]; same: readonly Cost[] | undefined; plain: readonly Cost[] },
): CostCell {
  const perKilobyte = (values: (sample: Cost) => number): number =>
    round(median(samples.map((sample) => (values(sample) / sample.bytes) * 1000)));
  const spread = (side: Side) => distribution(samples.map(goodput[side]));
  return {
    delivery,
    authentication,
    receivers,
    window,
    loss_distance,
    object_bytes,
    goodput: forEachSide((side) => round(spread(side).median)),
    quartiles: forEachSide((side): [number, number] => {
      const [low, high] = spread(side).quartiles;
      return [round(low), round(high)];
    }),
    to_unicast: ratiosTo(samples, one),
    ...(same && { to_same_unicast: ratiosTo(samples, same) }),
    to_plain: ratiosTo(samples, plain),
    helper_ns_per_kb: {
      source: perKilobyte(({ source_helper_ns }) => source_helper_ns),
      receiver: perKilobyte(({ receiver_helper_ns }) => receiver_helper_ns),
    },
    reports_ns_per_kb: {
      source: perKilobyte(({ source_reports_ns }) => source_reports_ns),
      receiver: perKilobyte(({ receiver_reports_ns }) => receiver_reports_ns),
    },
    repairs: samples.reduce((sum, { repairs }) => sum + repairs, 0),
    recovered: samples.reduce((sum, { recovered }) => sum + recovered, 0),
  };
}

const forEachSide = <Value>(value: (side: Side) => Value): Record<Side, Value> =>
  Object.fromEntries(SIDES.map((side) => [side, value(side)])) as Record<Side, Value>;

/** Compares samples of the same round, so that a disturbance of the machine affects both. */
function ratiosTo(samples: readonly Cost[], others: readonly Cost[]): Figures {
  const ofRound = new Map(others.map((other) => [other.round, other]));
  return forEachSide((side) =>
    round(
      median(
        samples.flatMap((sample) => {
          const other = ofRound.get(sample.round);
          return other ? [goodput[side](sample) / goodput[side](other)] : [];
        }),
      ),
    ),
  );
}

/** Says which marks hold. The time of helper threads counts. */
export function judgeCosts(cells: readonly CostCell[]): CostFinding[] {
  const find = (each: MulticastCase): CostCell | undefined => cells.find((cell) => nameOf(cell) === nameOf(each));
  const most = Math.max(...cells.map(({ receivers }) => receivers));
  const share = (claim: string, each: MulticastCase, required: Partial<Figures>): CostFinding[] => {
    const cell = find(each);
    if (!cell) return [];
    return (Object.entries(required) as [Side, number][]).map(([side, bound]) => ({
      claim: `${claim}, ${side}`,
      required: bound,
      measured: cell.to_plain[side],
      holds: cell.to_plain[side] >= bound,
    }));
  };
  return [
    ...WINDOWS.flatMap((window) =>
      share(`repairs at 1 % loss, window ${window}`, channel('none', 2, { window, loss_distance: LOSS_DISTANCE }), {
        source: 0.95,
        receiver: 0.95,
      }),
    ),
    ...share(`without authentication, ${most} receivers to one`, channel('none', most), {
      source: 0.95,
      receiver: 0.95,
    }),
    ...share('signed, helper threads counted', channel('signed', 1), { source: 0.6, receiver: 0.6 }),
    ...share('timed', channel('timed', 1), { source: 0.6, receiver: 0.6 }),
    ...share('signed for each stream', channel('per-stream', 1), { source: 0.6, receiver: 0.43 }),
  ];
}

/** Renders tables for people. */
export function costTables(cells: readonly CostCell[], findings: readonly CostFinding[]): ResultTable[] {
  const both = ({ source, receiver }: { source: number; receiver: number }): string => `${source} / ${receiver}`;
  return [
    {
      head: [
        'delivery',
        'receivers',
        'window',
        'loss %',
        'source Gbit/s',
        'receiver Gbit/s',
        'to unicast, 1 client',
        'to unicast, as many',
        'to plain channel',
        'without helper',
        'helper ns/KB',
      ],
      rows: cells.map((cell) => [
        cell.delivery === 'unicast' ? 'unicast' : cell.authentication,
        String(cell.receivers),
        cell.delivery === 'unicast' ? '' : String(cell.window),
        cell.loss_distance === 0 ? '0' : String(round(100 / cell.loss_distance)),
        String(cell.goodput.source),
        String(cell.goodput.receiver),
        both(cell.to_unicast),
        cell.to_same_unicast ? both(cell.to_same_unicast) : '',
        cell.delivery === 'unicast' ? '' : both(cell.to_plain),
        cell.delivery === 'unicast'
          ? ''
          : both({ source: cell.to_plain.source_thread, receiver: cell.to_plain.receiver_thread }),
        both(cell.helper_ns_per_kb),
      ]),
      notes: ['Ratios are source / receiver. Goodput counts the processor time of helper threads as well.'],
    },
    {
      head: ['mark', 'required', 'measured', 'holds'],
      rows: findings.map(({ claim, required, measured, holds }) => [
        claim,
        String(required),
        String(measured),
        holds ? 'yes' : 'NO',
      ]),
      notes: [],
    },
  ];
}
