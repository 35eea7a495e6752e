import type { z } from 'zod';
import type { Setup } from '../artefact/artefact.js';
import type { CompleteSettings } from '../artefact/declared_differences.js';
import type { BeforeRounds, ResultCell } from '../results/result.js';

const folder = 'packages/bench/src/evidence/runners';

/** Returns the path of a runner's module. What it imports measures, and converts the output of programs. */
export const runnerModule = (file: string): string => `${folder}/${file}`;

/** What the Node addon is built from */
export const addonSources = [
  'packages/native/src',
  'packages/native/addon_sources.mjs',
  'packages/native/binding.gyp',
  'packages/native/layers.json',
];

/** What programs of packages/native/bench are built from, beside their own sources */
export const programSources = ['packages/native/src', 'packages/native/CMakeLists.txt', 'packages/native/layers.json'];

/** Returns the sources of a program of `packages/native/bench` that reads lines of settings. */
export const settingProgramSources = (program: string): string[] => [
  ...programSources,
  `packages/native/bench/${program}.cc`,
  'packages/native/bench/setting_lines.h',
];

/** Says how to leave kept parts that do not fit. */
export const againHint = 'run with --again, which begins anew';

export interface RunContext {
  /** Number of runs of each cell, and the seed of the first one */
  runs: number;
  seed: number;
  quick: boolean;
  /** Directory of finished parts, with which an interrupted run continues. It is emptied when the run is complete. */
  directory: string;
  progress: (line: string) => void;
  stop: AbortSignal;
}

export interface Measured {
  cells: ResultCell[];
  versions: Record<string, string>;
  skipped: string[];
  /** How busy the machine was before rounds in real time */
  before_rounds?: BeforeRounds;
}

/**
 * Merges the options of the set-up and the settings of one arm into one object. @throws ZodError when either is invalid
 */
export const parseSettings = <Options extends z.ZodObject, Settings extends z.ZodObject>(
  { options, arms }: Setup,
  arm: string,
  schemas: { options: Options; settings: Settings },
): z.output<Options> & z.output<Settings> => ({
  ...schemas.options.parse(options),
  ...schemas.settings.parse(arms[arm]?.settings),
});

/** Returns the settings of all arms, with their names. @throws ZodError when the settings of one are invalid */
export const armsOf = <Settings extends z.ZodObject>(
  { arms }: Setup,
  settings: Settings,
): ({ arm: string } & z.output<Settings>)[] =>
  Object.entries(arms).map(([arm, { settings: given }]) => ({ arm, ...settings.parse(given) }));

/** Gives each key a name of its own, so that arms declare the keys in which their programs differ. */
export const prefixed = (prefix: string, values: object): CompleteSettings =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [`${prefix}.${key}`, value as unknown]));

/** Measures the arms of an artefact. There is one runner for each kind of experiment. */
export interface Runner {
  name: string;
  /** Whether figures depend on the machine and its load, unlike virtual time */
  realTime: boolean;
  /** Whether runs draw from their seeds. Other runs differ by chance alone. */
  seeded: boolean;
  /**
   * Folders and files, relative to the repository, whose change makes results stale. A TypeScript file stands for all
   * modules that it imports, too.
   */
  sources: readonly string[];
  /** Returns the complete input of the arm's program. @throws ZodError when options or settings are invalid */
  settings(setup: Setup, arm: string): CompleteSettings;
  /** Measures the arms. @throws UserError */
  run(setup: Setup, context: RunContext): Promise<Measured>;
}
