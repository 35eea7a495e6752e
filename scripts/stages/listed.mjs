// Compares the tests that exist in the sources with those that were reported, since a stage passes only when all of
// them ran.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { filesBelow } from '../setup/stamp.mjs';

/** Returns a failure for each listed item that did not run, and one when nothing is listed at all. */
export function notRun(what, listed, ran) {
  const seen = new Set(ran);
  const failures = listed.filter((item) => !seen.has(item)).map((item) => `${item}: no ${what} ran`);
  return listed.length === 0 ? [`there is no ${what} at all`] : failures;
}

/** Returns the names of the fuzz targets that have a source. */
export function fuzzTargets() {
  return filesBelow('packages/native/fuzz', (file) => file.endsWith('_fuzz.cc')).map((file) => basename(file, '.cc'));
}

/** Returns the names of the C++ test programs, each with the number of tests that its sources declare. */
export function unitPrograms() {
  const programs = new Map();
  for (const file of filesBelow('packages/native/test', (name) => name.endsWith('_test.cc'))) {
    const program = `${file.split('/')[3]}_test`;
    programs.set(program, (programs.get(program) ?? 0) + declaredTests(readFileSync(file, 'utf8')));
  }
  return programs;
}

/** Counts `TEST`, `TEST_F`, `TEST_P` and `TYPED_TEST` at the start of a line. The latter two run at least once. */
export function declaredTests(source) {
  return [...source.matchAll(/^(?:TYPED_)?TEST(?:_F|_P)?\(/gm)].length;
}

export const vitestFiles = () => filesBelow('packages', (file) => /^packages\/[^/]+\/test\/.*\.test\.ts$/.test(file));
export const playwrightFiles = () =>
  filesBelow('packages/web-client/test/browser', (file) => file.endsWith('.spec.ts'));
