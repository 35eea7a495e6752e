import { join } from 'node:path';
import { nativeSources } from '../process/workspace.js';
import type { Artefact } from './artefact/artefact.js';
import { readCatalogue } from './artefact/catalogue.js';
import { ResultStore } from './results/result_store.js';
import { runnerNamed } from './runners/index.js';
import type { Runner } from './runners/runner.js';

/** Everything that artefacts are measured with. */
export interface Laboratory {
  /** Root of the repository, whose sources decide whether results are stale. */
  root: string;
  catalogue: readonly Artefact[];
  store: ResultStore;
  /** Where parts of unfinished runs and reports go. */
  scratch: string;
  /** @throws UserError when there is none of that name */
  runnerNamed(name: string): Runner;
}

/** Artefacts, results and runners of this repository. @throws UserError outside of it */
export async function openLaboratory(): Promise<Laboratory> {
  const root = join(nativeSources(), '..', '..');
  const scratch = join(root, '.sheaf', 'evidence');
  return {
    root,
    catalogue: await readCatalogue(),
    store: new ResultStore({ full: join(root, 'packages', 'bench', 'results'), quick: join(scratch, 'quick') }),
    scratch,
    runnerNamed,
  };
}
