import { UserError } from '@sheaf/gateway';
import { isRerunnable, type Artefact, type DocumentTable, type Rerunnable } from '../artefact/artefact.js';
import { tableOf } from '../report/view.js';
import { measuredText, staleText } from '../report/words.js';
import type { Result } from '../results/result.js';
import { hasInterval } from '../verdict/figure.js';
import { inOrder, truthsInOrder, type MeasuredFigure, type Truth } from '../verdict/predicate.js';
import { claimVerdicts, type ClaimVerdict } from '../verdict/verdict.js';
import { markdownTable } from './markdown_table.js';

/** An artefact with its committed result */
export interface Measurement {
  artefact: Artefact;
  /** Undefined when there is none */
  result: Result | undefined;
  /** Whether it is measured in virtual time */
  virtualTime: boolean;
  /** Whether the code or the set-up has changed since the measurement */
  stale: boolean;
  /** Whether the set-up has changed, so that a document shows other settings than were measured */
  otherSettings: boolean;
}

/** A part of a document that names an artefact, and one of its tables, `claims` or `setup` */
const block = /^<!-- evidence: (\S+) (\S+) -->\n[\s\S]*?^<!-- end of evidence -->$/gm;

/** Number of figures that a document shows for a claim, unless more fail */
const shownFigures = 4;

/** Returns a document without the parts that come from artefacts and results. */
export const withoutBlocks = (text: string): string => text.replace(block, '');

/** Returns whether a document takes anything from results. */
export const hasBlocks = (text: string): boolean => text.search(block) >= 0;

/** Fills the blocks of a document. @throws UserError when one names an artefact or a table that does not exist */
export const fillBlocks = (text: string, measurements: readonly Measurement[]): string =>
  text.replace(
    block,
    (_, id: string, name: string) =>
      `<!-- evidence: ${id} ${name} -->\n\n${contentOf(id, name, measurements)}\n\n<!-- end of evidence -->`,
  );

function contentOf(id: string, name: string, measurements: readonly Measurement[]): string {
  const found = measurements.find((candidate) => candidate.artefact.id === id);
  const { artefact, result } = found ?? {};
  if (!found || !artefact || !isRerunnable(artefact)) throw unknown(`there is no artefact '${id}' that can be run`);
  if (name === 'setup') return setupOf(artefact);
  const table = artefact.tables.find((candidate) => candidate.name === name);
  if (!table && name !== 'claims') throw unknown(`${id} has no table '${name}'`);
  if (!result || (table && !hasValues(artefact, result, table)))
    return `Not measured yet: \`npx sheaf evidence run ${id}\`.`;
  if (!table) {
    const claims = claimVerdicts(artefact, result).map(claimLine).join('\n');
    return found.stale ? `**${staleText(result)}:**\n\n${claims}` : claims;
  }
  return `${markdownTable(artefact, result, table)}\n\n${captionOf(artefact, table, result, found)}`;
}

/** Returns whether a result has values of a table, which older settings may not have measured. */
const hasValues = (artefact: Rerunnable, result: Result, { quantities, arms, where }: DocumentTable): boolean =>
  quantities.some((quantity) => tableOf(artefact, result, { quantity, arms, where }).rows.length > 0);

/** Says over what the arms were measured, and how that differs from what was published. */
const setupOf = ({ setup, deviations }: Rerunnable): string =>
  [
    `Network: ${setup.network}.`,
    ...deviations.map(({ what, why, effect }) => `- ${capitalised(what)}. Why: ${why}. Effect: ${effect}.`),
  ].join('\n\n');

const unknown = (message: string): UserError =>
  new UserError('BENCH_FAILED', message, { hint: 'correct the comment in the document that names it' });

/** Says what the figures are, how they were measured, and how to measure them again. */
function captionOf(
  { quantities, setup, id }: Rerunnable & { id: string },
  { quantities: shown, columns, interval, ratio, published }: DocumentTable,
  result: Result,
  { virtualTime, stale }: Pick<Measurement, 'virtualTime' | 'stale'>,
): string {
  const described = shown.flatMap((quantity) => quantities[quantity] ?? []);
  const statistics = [...new Set(described.map(({ statistic }) => statistic))];
  const spread = interval ? ` with ${result.runs >= 5 ? '95 % interval' : 'range'}` : '';
  const texts = statistics.map(
    (statistic) => `${statistic} of the runs${hasInterval(statistic, result.runs) ? spread : ''}`,
  );
  // The head names several quantities with their units, and an only one unless it is a column.
  const only = described.length === 1 && columns !== 'quantity' ? described[0] : undefined;
  return [
    ...(stale ? [`**${staleText(result)}.** `] : []),
    capitalised(`${only ? `${only.name}, ${only.unit}: ` : ''}${texts.join(', or ')}`),
    ...(ratio ? [`; × is the ratio to *${setup.arms[setup.baseline]?.label ?? setup.baseline}*`] : []),
    ...(published ? ['; published values in square brackets'] : []),
    `. ${measuredText(result, virtualTime)}. \`npx sheaf evidence run ${id}\``,
    ...result.skipped.map((text) => `. Not measured: ${text}`),
    '.',
  ].join('');
}

/** Counts figures by their truth: "3 unknown, 5 tie, 20 hold". */
const countsOf = (figures: readonly MeasuredFigure[]): string =>
  truthsInOrder
    .map((truth) => [figures.filter((figure) => figure.truth === truth).length, truth] as const)
    .filter(([count]) => count > 0)
    .map(([count, truth]) => `${count} ${count > 1 ? plurals[truth] : truth}`)
    .join(', ');

const plurals: Readonly<Record<Truth, string>> = { fails: 'fail', unknown: 'unknown', tie: 'ties', holds: 'hold' };

const capitalised = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function claimLine({ text, verdict, measured, why }: ClaimVerdict): string {
  const ordered = inOrder(measured);
  const fails = measured.filter(({ truth }) => truth === 'fails');
  const doubtful = ordered.filter(({ truth }) => truth !== 'holds');
  const shown = measured.length <= shownFigures ? ordered : doubtful.slice(0, Math.max(fails.length, shownFigures));
  const rest = ordered.filter((figure) => !shown.includes(figure));
  const details = [
    ...(why === undefined ? [] : [why]),
    ...shown.map((figure) => (figure.truth === 'holds' ? figure.text : `${figure.text} (${figure.truth})`)),
    ...(rest.length > 0 ? [shown.length > 0 ? `and ${countsOf(rest)}` : `${rest.length} figures`] : []),
  ];
  const claim = `- **${verdict}**: ${text}`;
  if (details.length === 0) return claim;
  // A line for each keeps many of them readable.
  return shown.length > shownFigures
    ? [claim, ...details.map((line) => `  - ${line}`)].join('\n')
    : `${claim} – ${details.join('; ')}`;
}
