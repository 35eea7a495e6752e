import { round } from '../../measure/statistics.js';
import type { Predicate, Rerunnable } from '../artefact/artefact.js';
import type { ResultCell } from '../results/result.js';
import { axesName, cellsOf, figureOf, matchesAxes, ratioOf, sameAxes, type Figure } from './figure.js';

/** `unknown`: not measured, or undecided because of chance. */
export type Truth = 'holds' | 'fails' | 'tie' | 'unknown';

/** One figure of a finding: its arms, its place, its value with interval */
export interface MeasuredFigure {
  text: string;
  truth: Truth;
  /** Distance by which the value itself, whatever chance adds to it, lies beyond the bound; not positive within it */
  beyond: number;
}

/** Truths of figures, those first that a reader should see first */
export const truthsInOrder: readonly Truth[] = ['fails', 'unknown', 'tie', 'holds'];

/** Sorts figures by what they are worth knowing: those that fail first, and among equals those farthest beyond. */
export const inOrder = (figures: readonly MeasuredFigure[]): MeasuredFigure[] =>
  [...figures].sort(
    (left, right) =>
      truthsInOrder.indexOf(left.truth) - truthsInOrder.indexOf(right.truth) || right.beyond - left.beyond,
  );

export interface Finding {
  truth: Truth;
  measured: MeasuredFigure[];
  /** Arms that were not measured, or not at every place, so that the statement remains open */
  missing: string[];
}

/** Evaluates a predicate. Nothing but the predicate and the results decides. */
export function evaluate(
  predicate: Predicate,
  quantities: Rerunnable['quantities'],
  cells: readonly ResultCell[],
): Finding {
  const findings = [predicate.of].flat().map((of) => evaluateArm({ ...predicate, of }, quantities, cells));
  return {
    truth: all(findings.map(({ truth }) => truth)),
    measured: findings.flatMap(({ measured }) => measured),
    missing: [...new Set(findings.flatMap(({ missing }) => missing))],
  };
}

/** A predicate about one arm */
type ArmPredicate = Predicate & { of: string };

function evaluateArm(
  predicate: ArmPredicate,
  quantities: Rerunnable['quantities'],
  cells: readonly ResultCell[],
): Finding {
  const { quantity, cells: own } = cellsOf(quantities, predicate.quantity, cells);
  const { to, against } = predicate;
  const unmeasured = [predicate.of, ...(to === undefined ? [] : [to])].filter(
    (arm) => !own.some((cell) => cell.arm === arm),
  );
  if (unmeasured.length > 0) return { truth: 'unknown', measured: [], missing: unmeasured };
  const of = own.filter((cell) => cell.arm === predicate.of && matchesAxes(cell.at, predicate.where));
  if (of.length === 0) return { truth: 'unknown', measured: [], missing: [predicate.of] };
  if (to === undefined && against === undefined)
    return judge(
      of.map((cell) => ({ at: axesName(cell.at), figure: figureOf(cell, quantity) })),
      predicate,
    );
  const pairs = of.flatMap((cell): [ResultCell, ResultCell][] => {
    const other = own.find(
      (candidate) => candidate.arm === (to ?? cell.arm) && sameAxes(candidate.at, { ...cell.at, ...against }),
    );
    return other ? [[cell, other]] : [];
  });
  // If a place was not measured with both arms, the statement remains open.
  if (pairs.length < of.length) return { truth: 'unknown', measured: [], missing: [to ?? predicate.of] };
  const groups = predicate.over === 'mean' ? [pairs] : pairs.map((pair) => [pair]);
  return judge(
    groups.map((group) => ({
      at: group.length > 1 ? `mean of ${group.length} cells` : axesName(group[0]?.[0].at ?? {}),
      figure: ratioOf(group, quantity),
    })),
    predicate,
  );
}

function judge(figures: readonly { at: string; figure: Figure }[], predicate: ArmPredicate): Finding {
  const truths = figures.map(({ figure }) => truthOf(figure, predicate));
  const { of, to, against } = predicate;
  const other = [...(to === undefined ? [] : [to]), ...(against ? [axesName(against)] : [])].join(', ');
  const what = other === '' ? of : `${of} to ${other}`;
  return {
    truth: all(truths),
    measured: figures.map(({ at, figure }, index) => ({
      text: `${what}${at === '' ? '' : `, ${at}`}: ${describe(figure)}`,
      truth: truths[index] ?? 'unknown',
      beyond: beyondOf(figure, predicate),
    })),
    missing: [],
  };
}

/** Combines several statements, which hold together only if each of them holds. */
export function all(truths: readonly Truth[]): Truth {
  if (truths.includes('fails')) return 'fails';
  if (truths.length === 0 || truths.includes('unknown')) return 'unknown';
  return truths.includes('tie') ? 'tie' : 'holds';
}

function truthOf(
  { value, interval, exact }: Figure,
  { at_least = -Infinity, at_most = Infinity, margin }: Predicate,
): Truth {
  const [low, high] = interval ?? (exact ? [value, value] : []);
  if (low === undefined || high === undefined) return 'unknown';
  if (low >= at_least && high <= at_most) return 'holds';
  if (high < at_least - margin || low > at_most + margin) return 'fails';
  return margin > 0 && low >= at_least - margin && high <= at_most + margin ? 'tie' : 'unknown';
}

const beyondOf = ({ value }: Figure, { at_least = -Infinity, at_most = Infinity }: Predicate): number =>
  Math.max(value - at_most, at_least - value);

function describe({ value, interval, n }: Figure): string {
  const runs = n === 1 ? '1 run' : `of ${n} runs`;
  return `${round(value, 4)} (${interval ? `${round(interval[0], 4)} to ${round(interval[1], 4)}` : runs})`;
}
