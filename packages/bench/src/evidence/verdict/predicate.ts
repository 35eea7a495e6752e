import { round } from '../../measure/statistics.js';
import type { Predicate, Rerunnable } from '../artefact/artefact.js';
import type { ResultCell } from '../results/result.js';
import { axesName, figureOf, ratioOf, sameAxes, type Figure } from './figure.js';

/** `unknown`: not measured, or undecided because of chance. */
export type Truth = 'holds' | 'fails' | 'tie' | 'unknown';

export interface Finding {
  truth: Truth;
  /** Each cell with its place, its figure with interval, and its bound */
  measured: string[];
}

/** Evaluates a predicate. Nothing but the predicate and the results decides. */
export function evaluate(
  predicate: Predicate,
  quantities: Rerunnable['quantities'],
  cells: readonly ResultCell[],
): Finding {
  const quantity = quantities[predicate.quantity];
  if (!quantity) throw new RangeError(`no quantity ${predicate.quantity}`);
  const of = cells.filter(
    (cell) => cell.arm === predicate.of && cell.quantity === predicate.quantity && matches(cell, predicate),
  );
  const { to } = predicate;
  if (to === undefined)
    return judge(
      of.map((cell) => ({ at: axesName(cell.at), figure: figureOf(cell, quantity) })),
      predicate,
    );
  const pairs = of.flatMap((cell): [ResultCell, ResultCell][] => {
    const other = cells.find(
      (candidate) => candidate.arm === to && candidate.quantity === cell.quantity && sameAxes(candidate.at, cell.at),
    );
    return other ? [[cell, other]] : [];
  });
  // If a place was not measured with both arms, the statement remains open.
  if (pairs.length === 0 || pairs.length < of.length) return { truth: 'unknown', measured: [] };
  const groups = predicate.over === 'mean' ? [pairs] : pairs.map((pair) => [pair]);
  return judge(
    groups.map((group) => ({
      at: group.length > 1 ? `mean of ${group.length} cells` : axesName(group[0]?.[0].at ?? {}),
      figure: ratioOf(group, quantity),
    })),
    predicate,
  );
}

function matches({ at }: ResultCell, { where }: Predicate): boolean {
  return Object.entries(where).every(([axis, wanted]) => [wanted].flat().includes(at[axis] ?? ''));
}

function judge(figures: readonly { at: string; figure: Figure }[], predicate: Predicate): Finding {
  const truths = figures.map(({ figure }) => truthOf(figure, predicate));
  const { of, to } = predicate;
  const what = to === undefined ? of : `${of} to ${to}`;
  return {
    truth: all(truths),
    measured: figures.map(({ at, figure }, index) => {
      const place = at === '' ? '' : `, ${at}`;
      const doubt = truths[index] === 'holds' ? '' : ` (${truths[index]})`;
      return `${what}${place}: ${describe(figure)}${doubt}`;
    }),
  };
}

/** Combines several statements, which hold together only if each of them holds. */
export function all(truths: readonly Truth[]): Truth {
  if (truths.includes('fails')) return 'fails';
  if (truths.length === 0 || truths.includes('unknown')) return 'unknown';
  return truths.includes('tie') ? 'tie' : 'holds';
}

function truthOf({ interval }: Figure, { at_least = -Infinity, at_most = Infinity, margin }: Predicate): Truth {
  if (!interval) return 'unknown';
  const [low, high] = interval;
  if (low >= at_least && high <= at_most) return 'holds';
  if (high < at_least - margin || low > at_most + margin) return 'fails';
  return margin > 0 && low >= at_least - margin && high <= at_most + margin ? 'tie' : 'unknown';
}

function describe({ value, interval, n }: Figure): string {
  const spread = interval ? `${round(interval[0], 3)} to ${round(interval[1], 3)}` : `${n} run`;
  return `${round(value, 3)} (${spread})`;
}
