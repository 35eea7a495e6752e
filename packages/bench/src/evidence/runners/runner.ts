import type { z } from 'zod';
import type { Setup } from '../artefact/artefact.js';
import type { CompleteSettings } from '../artefact/declared_differences.js';
import type { ResultCell } from '../results/result.js';

/** Runners make values of what programs print, so they belong to the sources of every result. */
export const runnerSources = 'packages/bench/src/evidence/runners';

export interface RunContext {
  /** Runs of each cell, and the seed of the first one. */
  runs: number;
  seed: number;
  quick: boolean;
  /** Where finished parts are kept, so that an interrupted run goes on; emptied when it is complete. */
  directory: string;
  progress: (line: string) => void;
  stop: AbortSignal;
}

export interface Measured {
  cells: ResultCell[];
  versions: Record<string, string>;
  skipped: string[];
}

/** Options of the set-up and settings of one arm, in one object. @throws ZodError when either is not understood */
export const parseSettings = (
  { options, arms }: Setup,
  arm: string,
  schemas: { options: z.ZodObject; settings: z.ZodObject },
): CompleteSettings => ({ ...schemas.options.parse(options), ...schemas.settings.parse(arms[arm]?.settings) });

/** Measures the arms of an artefact; one for each kind of experiment. */
export interface Runner {
  name: string;
  /** Figures depend on the machine and what else runs on it. Virtual time does not. */
  realTime: boolean;
  /** Folders and files, relative to the repository, whose change makes results stale. */
  sources: readonly string[];
  /** All that the arm's program is told. @throws ZodError when options or settings are not understood */
  settings(setup: Setup, arm: string): CompleteSettings;
  /** @throws UserError */
  run(setup: Setup, context: RunContext): Promise<Measured>;
}
