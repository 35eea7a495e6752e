import { join } from 'node:path';
import { nativeSources } from '../process/workspace.js';
import type { Artefact } from './artefact/artefact.js';
import { readCatalogue } from './artefact/catalogue.js';
import { checkBuilt } from './results/built.js';
import { ResultStore } from './results/result_store.js';
import { runnerNamed } from './runners/index.js';
import type { Runner } from './runners/runner.js';

/** The catalogue, stores and runners for measuring artefacts */
export interface Laboratory {
  /** Root of the repository, whose sources decide whether results are stale */
  root: string;
  catalogue: readonly Artefact[];
  store: ResultStore;
  /** Directory for reports and for parts of unfinished runs */
  scratch: string;
  /** Compares sources with what was built. @throws UserError when something is not built from them */
  checkBuilt: () => Promise<void>;
  /** Returns a runner. @throws UserError when none has the name */
  runnerNamed(name: string): Runner;
}

/** Opens the artefacts, results and runners of this repository. @throws UserError outside of it */
export async function openLaboratory(): Promise<Laboratory> {
  const root = join(nativeSources(), '..', '..');
  const scratch = join(root, '.sheaf', 'evidence');
  return {
    root,
    catalogue: await readCatalogue(),
    store: new ResultStore({ full: join(root, 'packages', 'bench', 'results'), quick: join(scratch, 'quick') }),
    scratch,
    checkBuilt: () => checkBuilt(root),
    runnerNamed,
  };
}
