import { round } from '../../measure/statistics.js';
import {
  isRerunnable,
  type Artefact,
  type Axes,
  type Quantity,
  type Rerunnable,
  type Where,
} from '../artefact/artefact.js';
import type { Result, ResultCell } from '../results/result.js';
import { axesName, cellsOf, figureOf, matchesAxes, ratioOf, sameAxes, type Figure } from '../verdict/figure.js';
import { artefactVerdict, claimVerdicts, type ClaimVerdict, type Verdict } from '../verdict/verdict.js';

/** One of our figures beside the published one, each also relative to the baseline of its own set-up */
export interface Row {
  place: string;
  at: Axes;
  arm: string;
  label: string;
  ours: Figure;
  oursToBaseline?: Figure;
  published?: number;
  publishedToBaseline?: number;
}

export interface QuantityTable {
  quantity: string;
  name: string;
  unit: string;
  statistic: string;
  normalisation: string;
  rows: Row[];
}

/** An artefact in the form that reports show */
export interface ArtefactView {
  artefact: Artefact;
  result?: Result;
  /** Whether the code or the set-up has changed since the measurement */
  stale: boolean;
  /** Whether it is measured in virtual time, where the machine changes nothing */
  virtualTime: boolean;
  verdict: Verdict;
  claims: ClaimVerdict[];
  /** Sources of the published values; "not published" when there are none */
  sources: string[];
}

/** A view with the tables of its quantities */
export type ReportedView = ArtefactView & { tables: QuantityTable[] };

export function viewOf(
  artefact: Artefact,
  result: Result | undefined,
  { stale, virtualTime }: Pick<ArtefactView, 'stale' | 'virtualTime'>,
): ArtefactView {
  if (!isRerunnable(artefact))
    return { artefact, stale, virtualTime, verdict: artefactVerdict(artefact, []), claims: [], sources: [] };
  const claims = claimVerdicts(artefact, result);
  return {
    artefact,
    ...(result && { result }),
    stale,
    virtualTime,
    verdict: artefactVerdict(artefact, claims),
    claims,
    sources: sourcesOf(artefact),
  };
}

/** Computes the table of each quantity, which takes seconds for thousands of cells. */
export function tablesOf({ artefact, result }: ArtefactView): QuantityTable[] {
  if (!isRerunnable(artefact) || !result) return [];
  return Object.keys(artefact.quantities).flatMap((quantity) => {
    const table = tableOf(artefact, result, { quantity });
    return table.rows.length === 0 ? [] : [table];
  });
}

/** Computes the rows of a quantity, of some arms and at some places. @throws RangeError for an unknown quantity */
export function tableOf(
  artefact: Rerunnable,
  result: Pick<Result, 'cells'>,
  { quantity, arms, where = {} }: { quantity: string; arms?: readonly string[] | undefined; where?: Where },
): QuantityTable {
  const { quantity: described, cells } = cellsOf(artefact.quantities, quantity, result.cells);
  const { name, unit, statistic, normalisation } = described;
  const wanted = cells.filter(({ arm, at }) => (arms?.includes(arm) ?? true) && matchesAxes(at, where));
  const rows = inOrderOfArms(artefact, wanted).map((cell) =>
    rowOf(artefact, { name: quantity, described, cells }, cell),
  );
  return { quantity, name, unit, statistic, normalisation, rows };
}

/** Sorts the cells of each place as the artefact declares its arms: results have them in the order of the first round. */
function inOrderOfArms({ setup }: Rerunnable, cells: readonly ResultCell[]): ResultCell[] {
  const arms = Object.keys(setup.arms);
  const places = new Map<string, ResultCell[]>();
  for (const cell of cells) {
    const place = axesName(cell.at);
    places.set(place, [...(places.get(place) ?? []), cell]);
  }
  return [...places.values()].flatMap((own) =>
    own.sort((left, right) => arms.indexOf(left.arm) - arms.indexOf(right.arm)),
  );
}

function rowOf(
  { setup, published }: Rerunnable,
  { name, described: quantity, cells }: { name: string; described: Quantity; cells: readonly ResultCell[] },
  cell: ResultCell,
): Row {
  const base = cells.find(({ arm, at }) => arm === setup.baseline && sameAxes(at, cell.at));
  const publishedOf = (arm: string): number | undefined =>
    published
      .flatMap((source) => ('values' in source ? source.values : []))
      .find((value) => value.arm === arm && value.quantity === name && sameAxes(value.at, cell.at))?.value;
  const own = publishedOf(cell.arm);
  const publishedBase = publishedOf(setup.baseline);
  return {
    place: axesName(cell.at),
    at: cell.at,
    arm: cell.arm,
    label: setup.arms[cell.arm]?.label ?? cell.arm,
    ours: figureOf(cell, quantity),
    ...(base && base !== cell && { oursToBaseline: ratioOf([[cell, base]], quantity) }),
    ...(own !== undefined && { published: own }),
    ...(own !== undefined &&
      publishedBase !== undefined &&
      cell.arm !== setup.baseline && { publishedToBaseline: round(own / publishedBase, 3) }),
  };
}

function sourcesOf({ published }: Rerunnable): string[] {
  return published.map((source) =>
    source.source === 'none'
      ? 'not published'
      : `${source.source}, ${source.statistic}, n ${source.n}${source.uncertainty === undefined ? '' : `, ${source.uncertainty}`}`,
  );
}
