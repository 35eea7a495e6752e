// The checks of layers and words, and the tests of the scripts themselves.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkCircles, describeCircles } from '../checks/circles.mjs';
import { checkFolderLayers } from '../checks/folder_layers.mjs';
import { checkGlossary } from '../checks/glossary.mjs';
import { checkMirroredTests } from '../checks/mirrored_tests.mjs';
import { checkNativeLayers } from '../checks/native_layers.mjs';
import { checkPackageLayers } from '../checks/package_layers.mjs';
import { capture, progress } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';

/** Packages with the folders of their tests that are about no single folder of the source. */
const mirrored = [
  { name: 'native', apart: ['multipath'] },
  { name: 'gateway' },
  { name: 'web-client', apart: ['browser'] },
  { name: 'bench', apart: ['interop', 'loss', 'memory', 'packaging'] },
  { name: 'cli' },
];

export const layers = {
  name: 'layers',
  title: 'Layers and scripts',
  needs: [],
  run: async () => {
    const packages = join(root, 'packages');
    const layersOf = (name) => JSON.parse(readFileSync(join(packages, name, 'layers.json'), 'utf8'));
    const circles = checkCircles(packages);
    progress(`  ${describeCircles(circles)}`);
    const checks = [
      { name: 'includes of packages/native/src', found: checkNativeLayers(join(packages, 'native', 'src'), layersOf('native')) },
      { name: 'imports of packages/gateway/src', found: checkFolderLayers(join(packages, 'gateway', 'src'), layersOf('gateway')) },
      { name: 'imports between packages', found: checkPackageLayers(packages) },
      { name: 'circles of imports', found: circles.found },
      { name: 'folders of tests', found: mirrored.flatMap(({ name, apart }) => checkMirroredTests(join(packages, name), apart).map((line) => `${name}/${line}`)) },
      { name: 'words of docs/glossary.md', found: checkGlossary(root) },
    ];
    const failures = [];
    for (const { name, found } of checks) {
      for (const violation of found) progress(`  ${violation}`);
      if (found.length > 0) failures.push(`${name}: ${found.length} violations`);
    }
    const scripts = scriptTests();
    return {
      passed: checks.length - failures.length + scripts.passed,
      failures: [...failures, ...scripts.failures],
      skipped: [],
    };
  },
};

function scriptTests() {
  const output = capture('sh', ['-c', '"$0" --test --test-reporter=tap scripts/test/ || true', process.execPath], { cwd: root }) ?? '';
  const failures = [...output.matchAll(/^not ok \d+ - (.*)$/gm)].map((match) => `scripts: ${match[1]}`);
  if (failures.length > 0) progress(output);
  const passed = Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0);
  if (passed === 0 && failures.length === 0) failures.push('scripts: no test ran');
  return { passed, failures };
}
