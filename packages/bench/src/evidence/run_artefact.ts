import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { describeMachine } from '../measure/machine.js';
import { watchOthers } from '../measure/other_programs.js';
import { quietLoad, untilLoadIsLow } from '../measure/quiet_machine.js';
import { isRerunnable, type Artefact, type Rerunnable } from './artefact/artefact.js';
import { checkDeclaredDifferences } from './artefact/declared_differences.js';
import { digestOfSettings, digestOfSources } from './results/digests.js';
import type { Laboratory } from './laboratory.js';
import type { Result, ResultCell } from './results/result.js';
import { addSession, type Session } from './results/sessions.js';
import type { Runner } from './runners/runner.js';

/** Longest wait for a quiet machine in milliseconds. Quick runs do not wait. */
const quietPatienceMs = 180_000;

export interface RunOptions {
  quick: boolean;
  /** Measures even if a result of the same program and settings exists. */
  again: boolean;
  progress: (line: string) => void;
  stop: AbortSignal;
}

export type Outcome = 'measured' | 'measured already' | 'up to date' | 'stopped' | 'not runnable';

/**
 * Measures one artefact and stores its result. @throws UserError when an arm differs in a hidden setting, or its runner
 * fails; when what would run is not built from the sources, or these change meanwhile; and, for a full result, when they
 * are not those of a commit
 */
export async function runArtefact(
  artefact: Artefact,
  laboratory: Laboratory,
  { quick, again, progress, stop }: RunOptions,
): Promise<Outcome> {
  if (!isRerunnable(artefact)) return 'not runnable';
  const { root, scratch, store, runnerNamed } = laboratory;
  const { runner: name, runs, seeds } = artefact.setup;
  const runner = runnerNamed(name);
  checkArms(artefact, runner);
  const digests = digestsOf(artefact, runner, { quick, root });
  const last = await store.read(artefact.id, { quick });
  const directory = partsDirectory(join(scratch, 'parts', artefact.id), digests);
  // A measurement that was interrupted goes on, also when it repeats one that has a result.
  const isDue = again || existsSync(directory);
  if (!isDue && last && isCurrent(last, digests)) return 'up to date';
  const same = isDue ? undefined : await sameMeasurement(artefact, laboratory, digests, quick);
  if (same) {
    progress(`${same.artefact} is the same measurement`);
    await store.write({ ...same, artefact: artefact.id });
    return 'measured already';
  }
  const commit = await checkedCommit(laboratory, quick);
  const patience = { patienceMs: quick ? 0 : quietPatienceMs, progress, stop };
  const load = runner.realTime ? await untilLoadIsLow(patience) : undefined;
  if (stop.aborted) return 'stopped';
  if (again) await rm(directory, { recursive: true, force: true });
  const count = quick ? runs.quick : runs.full;
  const seed = seeds.held_out;
  progress(runner.seeded ? `${count} runs, seeds ${seed} to ${seed + count - 1}` : `${count} runs`);
  const { measured, session } = await inSession({ directory, load }, () =>
    runner.run(artefact.setup, { runs: count, seed, quick, directory, progress, stop }).catch((error: unknown) => {
      // The signal that stops this process reached the programs of the experiment, too.
      if (stop.aborted) return undefined;
      throw error;
    }),
  );
  if (!measured || stop.aborted) return 'stopped';
  checkUnchanged(digests, digestsOf(artefact, runner, { quick, root }));
  const { load: highestLoad, other_processors: otherProcessors, seconds } = session;
  if (otherProcessors !== undefined && otherProcessors >= quietLoad)
    progress(`other programs used ${otherProcessors} processors meanwhile; the result says so`);
  await store.write({
    artefact: artefact.id,
    ...digests,
    quick,
    runs: count,
    ...(runner.seeded && { seed }),
    commit,
    machine: { ...describeMachine(), ...(highestLoad !== undefined && { load: highestLoad }) },
    ...(otherProcessors !== undefined && { other_processors: otherProcessors }),
    finished: new Date().toISOString(),
    seconds,
    ...measured,
    cells: measured.cells.map(rounded),
  });
  await rm(directory, { recursive: true, force: true });
  return 'measured';
}

/** Returns a directory whose name keeps parts apart from those of another program or other settings. */
const partsDirectory = (parent: string, { program, settings }: Digests): string =>
  join(parent, `${program.slice(0, 12)}-${settings.slice(0, 12)}`);

/**
 * Returns the result of another artefact that the same program measured in the same set-up, as papers show several
 * quantities of one experiment in a figure each.
 */
async function sameMeasurement(
  { id }: Artefact,
  { catalogue, store }: Laboratory,
  digests: Digests,
  quick: boolean,
): Promise<Result | undefined> {
  for (const other of catalogue) {
    if (other.id === id || !isRerunnable(other) || digestOfSettings(other.setup, quick) !== digests.settings) continue;
    const result = await store.read(other.id, { quick });
    if (result && isCurrent(result, digests)) return result;
  }
  return undefined;
}

/** Rounds values to six digits, which no measurement exceeds, to keep files small. */
const rounded = ({ values, ...cell }: ResultCell): ResultCell => ({
  ...cell,
  values: values.map((value) => Number(value.toPrecision(6))),
});

/**
 * Returns the commit that will be measured. @throws UserError when what would run is not built from the sources, or, for
 * a full result, when these are not those of a commit
 */
async function checkedCommit({ root, checkBuilt }: Laboratory, quick: boolean): Promise<string> {
  const commit = commitOf(root);
  if (!quick && commit.endsWith(changedSources))
    throw new UserError('BENCH_FAILED', `the sources differ from commit ${commit.replace(changedSources, '')}`, {
      hint: 'commit them, so that others can measure the same, or use --quick',
    });
  await checkBuilt();
  return commit;
}

/** Measures, and keeps how long that took and how busy the machine was, even if it fails. */
async function inSession<Measured>(
  { directory, load }: { directory: string; load: number | undefined },
  measure: () => Promise<Measured>,
): Promise<{ measured: Measured; session: Session }> {
  const started = performance.now();
  const others = load === undefined ? undefined : watchOthers();
  const keep = (): Promise<Session> => {
    const used = others?.();
    return addSession(directory, {
      ...(load !== undefined && { load }),
      ...(used !== undefined && { other_processors: used }),
      seconds: Math.round((performance.now() - started) / 1000),
    });
  };
  try {
    const measured = await measure();
    return { measured, session: await keep() };
  } catch (error) {
    await keep();
    throw error;
  }
}

/** Compares the digests before and after a measurement. @throws UserError when they differ */
function checkUnchanged(before: Digests, after: Digests): void {
  if (before.program === after.program && before.settings === after.settings) return;
  throw new UserError('BENCH_FAILED', 'the sources changed while they were measured, so no result is stored', {
    hint: 'build them with `npm run setup`, and measure again',
  });
}

/** Compares the complete settings of the arms. @throws UserError */
export function checkArms({ id, setup }: Rerunnable & { id: string }, runner: Runner): void {
  checkDeclaredDifferences(id, setup, (arm) => runner.settings(setup, arm));
}

export interface Digests {
  program: string;
  settings: string;
}

export const digestsOf = (
  { setup }: Rerunnable,
  { sources }: Runner,
  { quick, root }: { quick: boolean; root: string },
): Digests => ({ program: digestOfSources(root, sources), settings: digestOfSettings(setup, quick) });

/** Returns whether code and set-up are unchanged since the measurement. */
export const isCurrent = (result: Result, { program, settings }: Digests): boolean =>
  result.program === program && result.settings === settings;

/** Ends the commit of a result whose sources differ from it */
const changedSources = ' with changes';

/** Tracked files that change no measurement. Results and the documents made from them are what earlier runs wrote. */
const notMeasured = ['packages/bench/results', 'README.md', 'docs'];

/** Returns the commit, with a note when sources differ from it; `unknown` outside of a repository. */
function commitOf(root: string): string {
  const git = (...words: string[]): string =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  const exclusions = notMeasured.map((path) => `:(exclude)${path}`);
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no', '--', '.', ...exclusions) !== '';
    return `${git('rev-parse', '--short=12', 'HEAD')}${changed ? changedSources : ''}`;
  } catch {
    return 'unknown';
  }
}
