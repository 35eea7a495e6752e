// The checks of layers and words, and the tests of the scripts themselves.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkGlossary } from '../checks/glossary.mjs';
import { checkNativeLayers } from '../checks/native_layers.mjs';
import { checkPackageLayers } from '../checks/package_layers.mjs';
import { capture, progress } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';

export const layers = {
  name: 'layers',
  title: 'Layers and scripts',
  needs: [],
  run: async () => {
    const native = join(root, 'packages', 'native');
    const rules = JSON.parse(readFileSync(join(native, 'layers.json'), 'utf8'));
    const checks = [
      { name: 'includes of packages/native/src', found: checkNativeLayers(join(native, 'src'), rules) },
      { name: 'imports between packages', found: checkPackageLayers(join(root, 'packages')) },
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
