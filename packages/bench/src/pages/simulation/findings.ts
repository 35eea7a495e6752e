import { mean, round, summary } from '../../measure/statistics.js';
import type { PagesCell } from './cell.js';
import { LEVELS, type LevelName } from './network.js';
import type { PageName } from './page.js';
import { PUBLISHED_NAMES, type PublishedName } from './published_results.js';
import type { TreeName } from './priority_trees.js';
import { cellName, type Run } from './run_record.js';
import { isRival, OURS, OURS_WITH_BBR, schedulerNamed, SCHEDULERS } from './schedulers.js';

/** A statement about the results, and whether it holds */
export interface Finding {
  claim: string;
  /** null when the cells for it were not measured, or chance leaves it open */
  holds: boolean | null;
  /** The measured values, cell by cell if the statement is about cells */
  measured: string[];
  /** Why it does not hold, as far as the figures show */
  why?: string;
}

/** Minimum share by which schedulers with priorities are faster than RR */
const REQUIRED_GAIN: Partial<Record<PageName, number>> = { youtube: 0.3, amazon: 0.2 };
/** Maximum ratio to the best published scheduler at which RR counts as competitive */
const COMPETITIVE = 1.05;
/** Maximum ratio of ours to the best other one */
const CRITICAL_TOLERANCE = 1.02;

/** Returns the scheduler that follows the paper. */
const nameOf = (published: PublishedName): string | undefined =>
  SCHEDULERS.find(({ publishedAs, kind }) => publishedAs === published && kind === 'published')?.name;

/** Judges whether the paper's findings hold here. */
export function publishedDirections(cells: readonly PagesCell[]): Finding[] {
  return [
    ...(['youtube', 'amazon'] as const).map((page) => prioritiesAgainstRr(cells, page)),
    rrForGoogle(cells),
    dwrrForYoutube(cells),
  ];
}

function prioritiesAgainstRr(cells: readonly PagesCell[], page: PageName): Finding {
  const required = REQUIRED_GAIN[page] ?? 0;
  const groups = byTree(cells, page, 'low').flatMap(({ tree, group }) => {
    const rr = publishedCell(group, 'RR');
    const others = PUBLISHED_NAMES.filter((name) => name !== 'RR').flatMap((name) => publishedCell(group, name) ?? []);
    return rr && others.length > 0 ? [{ tree, rr, others }] : [];
  });
  const gains = groups.map(({ rr, others }) => 1 - mean(others.map(({ plt_ms }) => plt_ms.mean)) / rr.plt_ms.mean);
  const claim = `${page} at level low: schedulers with priorities load at least ${required * 100} % faster than RR`;
  if (groups.length === 0) return { claim, holds: null, measured: [] };
  const holds = mean(gains) >= required;
  const measured = groups.map(
    ({ tree, rr, others }, index) =>
      `${tree}: ${percent(gains[index] ?? 0)} faster (RR ${Math.round(rr.plt_ms.mean)} ms, others ${range(others)} ms; published: ${publishedGain(rr, others)})`,
  );
  return { claim, holds, measured, ...(!holds && { why: whyOrderCannot(groups) }) };
}

/**
 * Explains the result: without loss, every scheduler that never leaves a path idle needs the same time for the same
 * bytes.
 */
function whyOrderCannot(groups: readonly { tree: TreeName; rr: PagesCell; others: readonly PagesCell[] }[]): string {
  const here = mean(groups.map(({ rr }) => rr.over_bound));
  const there = mean(groups.flatMap(({ rr }) => (rr.published ? [rr.published.mean_ms / rr.lower_bound_ms] : [])));
  const best = mean(groups.map(({ others }) => Math.min(...others.map(({ over_bound }) => over_bound))));
  const safari = groups.find(({ tree }) => tree === 'safari');
  const swrr = safari?.others.find(({ published, scheduler }) => published && scheduler === nameOf('sWRR'));
  const flat =
    swrr?.published && safari?.rr.published
      ? ` On Safari's flat tree the published sWRR takes single packets in turn just as RR does (its release gives every sibling one token), and still loaded in ${swrr.published.mean_ms} ms where the published RR took ${safari.rr.published.mean_ms} ms: the published gap comes with the program's code for RR, not with the order of its packets.`
      : '';
  return `The page load time counts until the last byte, whatever the order of the bytes, and nothing is lost at this level: a scheduler that uses every chance to send is as quick as any other. RR is ${round(here, 3)} times the lower bound here and the best of the others ${round(best, 3)} times; the published RR is ${round(there, 3)} times the bound, so its links were idle most of the time.${flat} Flow control does not make it either: with receive windows that begin at 32 and 48 KiB, as in the transport that the published program was built on, RR loads no later than the others. Clients here need no time per object.`;
}

function rrForGoogle(cells: readonly PagesCell[]): Finding {
  const groups = byTree(cells, 'google', 'high').flatMap(({ tree, group }) => {
    const rr = publishedCell(group, 'RR');
    const others = PUBLISHED_NAMES.filter((name) => name !== 'RR').flatMap((name) => publishedCell(group, name) ?? []);
    return rr && others.length > 0 ? [{ tree, rr, others }] : [];
  });
  const claim = 'google at level high: RR is competitive (within 5 % of the best published scheduler)';
  if (groups.length === 0) return { claim, holds: null, measured: [] };
  const ratios = groups.map(({ rr, others }) => rr.plt_ms.mean / Math.min(...others.map(({ plt_ms }) => plt_ms.mean)));
  const holds = mean(ratios) <= COMPETITIVE;
  return {
    claim,
    holds,
    measured: groups.map(
      ({ tree, rr, others }, index) =>
        `${tree}: RR ${Math.round(rr.plt_ms.mean)} ms, others ${range(others)} ms, RR over the best ${round(ratios[index] ?? 0, 3)}`,
    ),
    ...(!holds && {
      why: 'at this level a page ends when the last lost packet has been repeated; the intervals show how much of the difference is chance',
    }),
  };
}

function dwrrForYoutube(cells: readonly PagesCell[]): Finding {
  const claim =
    'youtube, Chrome’s tree, level medium: dWRR has the lowest object completion time of the published schedulers';
  const group = cells.filter(({ page, tree, level }) => page === 'youtube' && tree === 'chrome' && level === 'medium');
  const found = PUBLISHED_NAMES.flatMap((name) => publishedCell(group, name) ?? []);
  const dwrr = publishedCell(group, 'dWRR');
  if (!dwrr || found.length < 2) return { claim, holds: null, measured: [] };
  const best = found.reduce((least, cell) => (cell.object_ms.mean < least.object_ms.mean ? cell : least));
  const holds = best === dwrr;
  return {
    claim,
    holds,
    measured: found.map(
      ({ scheduler, object_ms }) =>
        `${scheduler}: mean ${round(object_ms.mean)} ms, median ${round(object_ms.median)} ms`,
    ),
    ...(!holds && {
      why: `${best.scheduler} completes the mean object earlier; it and dWRR differ in how long the large objects hold back the small ones of other groups`,
    }),
  };
}

/**
 * Judges whether ours is the fastest to the last object, and within a tolerance to the critical ones, with the same
 * congestion controller.
 */
export function oursAgainstOthers(cells: readonly PagesCell[], runs: ReadonlyMap<string, readonly Run[]>): Finding[] {
  const comparisons = cells
    .filter(({ scheduler }) => scheduler === OURS.name)
    .flatMap((own) => {
      const others = sameSetting(cells, own).filter(({ scheduler }) => isRival(schedulerNamed(scheduler)));
      return others.length > 0 ? [{ own, plt: least(others, 'plt_ms'), critical: least(others, 'critical_ms') }] : [];
    });
  const judge = (claim: string, metric: 'plt_ms' | 'critical_ms', tolerance: number): Finding => {
    if (comparisons.length === 0) return { claim, holds: null, measured: [] };
    const missed = comparisons.flatMap(({ own, ...best }) => {
      const other = metric === 'plt_ms' ? best.plt : best.critical;
      if (own[metric].mean <= other[metric].mean * tolerance) return [];
      const paired = metric === 'plt_ms' ? pairedDifference(own, other, runs) : '';
      return [
        `${own.page}, ${own.tree}, ${own.level}: ${round(own[metric].mean)} ms, ${other.scheduler} ${round(other[metric].mean)} ms${paired}`,
      ];
    });
    const holds = missed.length === 0;
    return {
      claim,
      holds,
      measured: [`${comparisons.length - missed.length} of ${comparisons.length} cells`, ...missed],
      ...(!holds && metric === 'plt_ms' && { why: WHY_LOSS_DECIDES }),
    };
  };
  return [
    judge(`${OURS.name}: the lowest mean page load time in every cell`, 'plt_ms', 1),
    judge(
      `${OURS.name}: critical resources at most 2 % after the best other scheduler's in every cell`,
      'critical_ms',
      CRITICAL_TOLERANCE,
    ),
  ];
}

/** Compares another controller with the same schedulers, outside of the comparison. */
export function otherController(cells: readonly PagesCell[]): Finding[] {
  const pairs = cells.flatMap((own) => {
    const other =
      own.scheduler === OURS.name
        ? sameSetting(cells, own).find(({ scheduler }) => scheduler === OURS_WITH_BBR)
        : undefined;
    return other ? [{ own, other }] : [];
  });
  if (pairs.length === 0) return [];
  const measured = LEVELS.flatMap((level) => {
    const found = pairs.filter(({ own }) => own.level === level);
    if (found.length === 0) return [];
    const bound = (pick: (pair: (typeof found)[number]) => PagesCell): number =>
      round(mean(found.map((pair) => pick(pair).over_bound)), 3);
    return [
      `level ${level}: ${bound(({ own }) => own)} times the lower bound with OLIA, ${bound(({ other }) => other)} with BBR (mean of ${found.length} cells)`,
    ];
  });
  const holds = pairs.every(({ own, other }) => other.plt_ms.mean <= own.plt_ms.mean);
  return [{ claim: 'beside the comparison: ours is quicker with BBR than with OLIA in every cell', holds, measured }];
}

/** Compares two cells over runs with the same seeds, which lose the same packets until the schedulers differ. */
function pairedDifference(own: PagesCell, other: PagesCell, runs: ReadonlyMap<string, readonly Run[]>): string {
  const ofOther = new Map(
    (runs.get(cellName(other)) ?? []).map(({ seed, clients }) => [seed, mean(clients.map(({ plt_ms }) => plt_ms))]),
  );
  const differences = (runs.get(cellName(own)) ?? []).flatMap(({ seed, clients }) => {
    const time = ofOther.get(seed);
    return time === undefined ? [] : [mean(clients.map(({ plt_ms }) => plt_ms)) - time];
  });
  if (differences.length < 2) return '';
  const { mean: middle, ci95 } = summary(differences);
  return `; seed by seed ${signed(middle)}${ci95 ? ` (95 % interval ${signed(ci95[0])} to ${signed(ci95[1])})` : ''} ms`;
}

const WHY_LOSS_DECIDES =
  'At the levels with loss the page load time is what the congestion controller makes of random losses: all these schedulers fill the same windows, and differ in the milliseconds after the last new byte. The best of many schedulers in a cell is also the luckiest of them; an interval of the differences that contains 0 is a tie.';

// --- cells ---------------------------------------------------------------------------------------

function byTree(
  cells: readonly PagesCell[],
  page: PageName,
  level: LevelName,
): { tree: TreeName; group: PagesCell[] }[] {
  const found = cells.filter((cell) => cell.page === page && cell.level === level);
  return [...new Set(found.map(({ tree }) => tree))].map((tree) => ({
    tree,
    group: found.filter((cell) => cell.tree === tree),
  }));
}

function publishedCell(group: readonly PagesCell[], name: PublishedName): PagesCell | undefined {
  return group.find(({ scheduler }) => scheduler === nameOf(name));
}

function least(cells: readonly PagesCell[], metric: 'plt_ms' | 'critical_ms'): PagesCell {
  return cells.reduce((best, cell) => (cell[metric].mean < best[metric].mean ? cell : best));
}

function range(cells: readonly PagesCell[]): string {
  const means = cells.map(({ plt_ms }) => Math.round(plt_ms.mean));
  return `${Math.min(...means)} to ${Math.max(...means)}`;
}

function publishedGain(rr: PagesCell, others: readonly PagesCell[]): string {
  const published = others.flatMap((cell) => (cell.published ? [cell.published.mean_ms] : []));
  return rr.published && published.length > 0 ? percent(1 - mean(published) / rr.published.mean_ms) : 'none';
}

const sameSetting = (cells: readonly PagesCell[], { page, tree, level }: PagesCell): PagesCell[] =>
  cells.filter((cell) => cell.page === page && cell.tree === tree && cell.level === level);

const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(1)}`;

const percent = (share: number): string => `${Math.round(share * 100)} %`;
