import { round } from '../../measure/statistics.js';
import { isRerunnable, type Artefact, type Axes, type Rerunnable } from '../artefact/artefact.js';
import type { Result } from '../results/result.js';
import { axesName, figureOf, ratioOf, sameAxes, type Figure } from '../verdict/figure.js';
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
  verdict: Verdict;
  claims: ClaimVerdict[];
  tables: QuantityTable[];
  /** Sources of the published values; "not published" when there are none */
  sources: string[];
}

export function viewOf(artefact: Artefact, result: Result | undefined, stale: boolean): ArtefactView {
  if (!isRerunnable(artefact))
    return { artefact, stale: false, verdict: artefactVerdict(artefact, []), claims: [], tables: [], sources: [] };
  const claims = claimVerdicts(artefact, result);
  return {
    artefact,
    ...(result && { result }),
    stale,
    verdict: artefactVerdict(artefact, claims),
    claims,
    tables: result ? tablesOf(artefact, result) : [],
    sources: sourcesOf(artefact),
  };
}

function tablesOf(artefact: Rerunnable, { cells }: Result): QuantityTable[] {
  return Object.entries(artefact.quantities).flatMap(([quantity, { name, unit, statistic, normalisation }]) => {
    const rows = cells.filter((cell) => cell.quantity === quantity).map((cell) => rowOf(artefact, cells, cell));
    return rows.length === 0 ? [] : [{ quantity, name, unit, statistic, normalisation, rows }];
  });
}

function rowOf(
  { setup, quantities, published }: Rerunnable,
  cells: Result['cells'],
  cell: Result['cells'][number],
): Row {
  const quantity = quantities[cell.quantity]!;
  const base = cells.find(
    ({ arm, at, quantity: name }) => arm === setup.baseline && name === cell.quantity && sameAxes(at, cell.at),
  );
  const publishedOf = (arm: string): number | undefined =>
    published
      .flatMap((source) => ('values' in source ? source.values : []))
      .find((value) => value.arm === arm && value.quantity === cell.quantity && sameAxes(value.at, cell.at))?.value;
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
