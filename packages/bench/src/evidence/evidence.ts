import { join } from 'node:path';
import { exitCodes, UserError } from '@sheaf/gateway';
import { untilInterrupted } from '../process/until_interrupted.js';
import { isRerunnable, type Artefact } from './artefact/artefact.js';
import { chooseArtefacts } from './artefact/catalogue.js';
import type { Measurement } from './documents/blocks.js';
import { fillDocuments, writeDocuments } from './documents/documents.js';
import type { Laboratory } from './laboratory.js';
import { listLines, type ListedArtefact } from './report/list.js';
import { viewOf, type ArtefactView } from './report/view.js';
import { writeReport } from './report/write_report.js';
import { isFailure } from './verdict/verdict.js';
import { checkArms, digestsOf, isCurrent, runArtefact } from './run_artefact.js';

/** Destinations of lines: results go to standard output, progress to standard error */
export interface EvidenceOutput {
  print: (line: string) => void;
  progress: (line: string) => void;
}

/** Runs `sheaf evidence list`: prints every artefact with its state and its verdict. @throws UserError */
export async function listEvidence(
  laboratory: Laboratory,
  { json }: { json: boolean },
  { print }: EvidenceOutput,
): Promise<number> {
  const entries: ListedArtefact[] = (await viewsOf(laboratory)).map(({ artefact, verdict, stale, result }) => ({
    id: artefact.id,
    paper: artefact.paper,
    artefact: artefact.artefact,
    title: artefact.title,
    state: artefact.state,
    verdict,
    stale,
    measured: result?.finished.slice(0, 10) ?? null,
    quick: result?.quick ?? null,
  }));
  if (json) {
    print(JSON.stringify(entries, undefined, 2));
    return exitCodes.success;
  }
  for (const line of listLines(entries)) print(line);
  return exitCodes.success;
}

export interface RunEvidenceOptions {
  /** Ids of artefacts; an empty list selects all */
  ids: readonly string[];
  quick: boolean;
  /** Measures even if a result of the same program and settings exists. */
  again: boolean;
  /**
   * Fails after everything was measured if a claim is contradicted, or if it is about an arm that was not measured. What
   * chance leaves open does not fail.
   */
  check: boolean;
}

/**
 * Runs `sheaf evidence run`: measures what is missing or stale, and continues an interrupted run. An artefact that cannot
 * be measured here is skipped with its reason. @throws UserError at the end if one was skipped
 */
export async function runEvidence(
  laboratory: Laboratory,
  options: RunEvidenceOptions,
  { print, progress }: EvidenceOutput,
): Promise<number> {
  const chosen = chooseArtefacts(laboratory.catalogue, options.ids);
  // Compares all arms before the first measurement, which may take many minutes.
  for (const artefact of chosen)
    if (isRerunnable(artefact)) checkArms(artefact, laboratory.runnerNamed(artefact.setup.runner));
  return untilInterrupted(
    () => progress('stopping; finished parts are kept, and the same command without --again goes on with them'),
    async (stop) => {
      const failed: string[] = [];
      const skipped: string[] = [];
      const open: string[] = [];
      for (const artefact of chosen) {
        const outcome = await runArtefact(artefact, laboratory, {
          ...options,
          progress: (line) => progress(`${artefact.id}: ${line}`),
          stop,
        }).catch((error: unknown) => {
          if (error instanceof UserError) return error;
          throw error;
        });
        if (outcome === 'stopped') return exitCodes.interrupted;
        if (outcome instanceof UserError) {
          print(`${artefact.id}: skipped: ${reasonOf(outcome)}`);
          skipped.push(artefact.id);
          continue;
        }
        const view = await viewWith(laboratory, artefact, options.quick);
        print(`${artefact.id}: ${outcome === 'not runnable' ? view.verdict : `${outcome}, ${view.verdict}`}`);
        for (const { text, verdict, why } of view.claims)
          print(`  ${verdict}: ${text}${why === undefined ? '' : ` – ${why}`}`);
        for (const reason of view.result?.skipped ?? []) print(`  not measured: ${reason}`);
        if (isFailure(view.verdict)) failed.push(artefact.id);
        const missing = new Set(view.claims.flatMap((claim) => claim.missing));
        if (missing.size > 0) open.push(`${artefact.id} (${[...missing].join(', ')})`);
      }
      const faults = [
        ...(options.check && failed.length > 0 ? [`claims do not hold: ${failed.join(', ')}`] : []),
        ...(options.check && open.length > 0
          ? [`claims are open, because arms were not measured: ${open.join(', ')}`]
          : []),
        ...(skipped.length > 0 ? [`skipped: ${skipped.join(', ')}`] : []),
      ];
      if (faults.length > 0) throw new UserError('BENCH_FAILED', faults.join('; '));
      return exitCodes.success;
    },
  );
}

const reasonOf = ({ message, hint }: UserError): string => (hint === undefined ? message : `${message} (${hint})`);

/**
 * Runs `sheaf evidence report`: writes one page about all artefacts, with pictures and values beside it. Returns the
 * page's file. @throws UserError
 */
export async function reportEvidence(laboratory: Laboratory, { print }: EvidenceOutput): Promise<string> {
  const page = await writeReport(join(laboratory.scratch, 'report'), await viewsOf(laboratory));
  print(page);
  return page;
}

/**
 * Runs `sheaf evidence documents`: writes the tables of documents from full results. With `check`, only compares them.
 * @throws UserError when the tables or the settings of a result differ and `check` is set, or when a document names an unknown one
 */
export async function writeEvidenceDocuments(
  laboratory: Laboratory,
  { check }: { check: boolean },
  { print }: EvidenceOutput,
): Promise<number> {
  const measurements = await measurementsOf(laboratory);
  if (!check) {
    for (const path of await writeDocuments(laboratory.root, measurements)) print(path);
    return exitCodes.success;
  }
  const other = measurements.filter(({ otherSettings }) => otherSettings).map(({ artefact }) => artefact.id);
  if (other.length > 0)
    throw new UserError('BENCH_FAILED', `results were measured with other settings: ${other.join(', ')}`, {
      hint: `run \`sheaf evidence run ${other.join(' ')}\``,
    });
  const differing = (await fillDocuments(laboratory.root, measurements)).filter(
    ({ before, after }) => before !== after,
  );
  if (differing.length === 0) return exitCodes.success;
  throw new UserError(
    'BENCH_FAILED',
    `tables differ from the results: ${differing.map(({ path }) => path).join(', ')}`,
    {
      hint: 'run `sheaf evidence documents`',
    },
  );
}

/** Reads all artefacts with their full results. @throws UserError when the file of a result is invalid */
export const measurementsOf = ({ root, catalogue, store, runnerNamed }: Laboratory): Promise<Measurement[]> =>
  Promise.all(
    catalogue.map(async (artefact): Promise<Measurement> => {
      const current = { stale: false, otherSettings: false };
      if (!isRerunnable(artefact)) return { artefact, result: undefined, virtualTime: false, ...current };
      const runner = runnerNamed(artefact.setup.runner);
      const common = { artefact, virtualTime: !runner.realTime };
      const result = await store.read(artefact.id, { quick: false });
      if (!result) return { ...common, result, ...current };
      const digests = digestsOf(artefact, runner, { quick: false, root });
      const otherSettings = result.settings !== digests.settings;
      return { ...common, result, stale: !isCurrent(result, digests), otherSettings };
    }),
  );

async function viewsOf(laboratory: Laboratory): Promise<ArtefactView[]> {
  return Promise.all(
    laboratory.catalogue.map(async (artefact) => {
      const full = isRerunnable(artefact) ? await laboratory.store.read(artefact.id, { quick: false }) : undefined;
      return viewWith(laboratory, artefact, full === undefined);
    }),
  );
}

async function viewWith(laboratory: Laboratory, artefact: Artefact, quick: boolean): Promise<ArtefactView> {
  if (!isRerunnable(artefact)) return viewOf(artefact, undefined, { stale: false, virtualTime: false });
  const { root, store } = laboratory;
  const result = await store.read(artefact.id, { quick });
  const runner = laboratory.runnerNamed(artefact.setup.runner);
  const stale = result !== undefined && !isCurrent(result, digestsOf(artefact, runner, { quick, root }));
  return viewOf(artefact, result, { stale, virtualTime: !runner.realTime });
}
