// Checks layers, circles, folders of tests, and words.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkCircles, describeCircles } from './circles.mjs';
import { checkCodeLinks } from './code_links.mjs';
import { checkLinks, checkParagraphs } from './documents.mjs';
import { checkFolderLayers } from './folder_layers.mjs';
import { checkGlossary } from './glossary.mjs';
import { checkMirroredTests } from './mirrored_tests.mjs';
import { checkNativeLayers } from './native_layers.mjs';
import { checkPackageLayers } from './package_layers.mjs';
import { checkSizes } from './sizes.mjs';
import { checkUnused } from './unused.mjs';
import { progress } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';

/** Packages, each with the test folders that belong to no single folder of the source */
const mirrored = [
  { name: 'native', apart: ['multipath'] },
  { name: 'gateway' },
  { name: 'web-client', apart: ['browser'] },
  { name: 'bench', apart: ['interop', 'loss', 'memory', 'packaging'] },
  { name: 'cli' },
];

const sizeExceptions = () => JSON.parse(readFileSync(join(import.meta.dirname, 'size_exceptions.json'), 'utf8'));

/** Runs the checks that only read the sources. Returns how many passed, and a line for each that did not. */
export function checkStructure() {
  const packages = join(root, 'packages');
  const layersOf = (name) => JSON.parse(readFileSync(join(packages, name, 'layers.json'), 'utf8'));
  const circles = checkCircles(root);
  progress(`  ${describeCircles(circles)}`);
  const checks = [
    {
      name: 'includes of packages/native/src',
      found: checkNativeLayers(join(packages, 'native', 'src'), layersOf('native')),
    },
    {
      name: 'imports of packages/gateway/src',
      found: checkFolderLayers(join(packages, 'gateway', 'src'), layersOf('gateway')),
    },
    { name: 'imports between packages', found: checkPackageLayers(packages) },
    { name: 'circles of imports', found: circles.found },
    {
      name: 'folders of tests',
      found: mirrored.flatMap(({ name, apart }) =>
        checkMirroredTests(join(packages, name), apart).map((line) => `${name}/${line}`),
      ),
    },
    { name: 'words of docs/glossary.md', found: checkGlossary(root) },
    { name: 'sizes of functions and classes', found: checkSizes(root, sizeExceptions()) },
    { name: 'symbols that nothing uses', found: checkUnused(root) },
    { name: 'links of documents', found: checkLinks(root) },
    { name: 'paragraphs of documents', found: checkParagraphs(root) },
    { name: 'symbols that documents link to', found: checkCodeLinks(root) },
  ];
  const failures = [];
  for (const { name, found } of checks) {
    for (const violation of found) progress(`  ${violation}`);
    if (found.length > 0) failures.push(`${name}: ${found.length} violations`);
  }
  return { passed: checks.length - failures.length, failures };
}
