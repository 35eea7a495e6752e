import type { ArtefactFile } from '../artefact/artefact.js';
import type { Verdict } from '../verdict/verdict.js';

/** An artefact in `sheaf evidence list` */
export interface ListedArtefact {
  id: string;
  paper: string;
  artefact: string;
  title: string;
  state: ArtefactFile['state'];
  verdict: Verdict;
  stale: boolean;
  /** Day of the measurement; null when there is none */
  measured: string | null;
  /** Whether the result is that of a quick run; null when there is none */
  quick: boolean | null;
}

/** Columns of a terminal that every line fits into */
const lineWidth = 80;

/** Writes the artefacts of each paper below its name, one in a line, and counts them by what is known. */
export function listLines(entries: readonly ListedArtefact[]): string[] {
  const papers = [...new Set(entries.map(({ paper }) => paper))];
  return [
    ...papers.flatMap((paper) => [
      cut(paper, lineWidth),
      ...linesOf(entries.filter((entry) => entry.paper === paper)),
      '',
    ]),
    countLine(entries),
  ];
}

function linesOf(entries: readonly ListedArtefact[]): string[] {
  const idWidth = Math.max(...entries.map(({ id }) => id.length));
  const stateWidth = Math.max(...entries.map((entry) => stateOf(entry).length));
  return entries.map((entry) => {
    const start = `  ${entry.id.padEnd(idWidth)}  ${stateOf(entry).padEnd(stateWidth)}  `;
    return `${start}${cut(entry.title, lineWidth - start.length)}`;
  });
}

/** What a reader wants to know of an artefact: the verdict where it was measured, and otherwise why not */
function stateOf({ verdict, state, stale, measured, quick }: ListedArtefact): string {
  if (state === 'not built' || state === 'cannot be rerun') return state;
  if (measured === null) return 'not measured';
  return `${verdict}${quick === true ? ', quick' : ''}${stale ? ', stale' : ''}`;
}

function countLine(entries: readonly ListedArtefact[]): string {
  const runs = entries.filter(({ state }) => state === 'reruns' || state === 'reruns in part');
  const measured = runs.filter(({ measured: day }) => day !== null);
  const stale = measured.filter((entry) => entry.stale);
  return [
    `${entries.length} artefacts`,
    `${runs.length} can be run`,
    `${measured.length} measured`,
    ...(stale.length > 0 ? [`${stale.length} older than the code`] : []),
  ].join(', ');
}

const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
