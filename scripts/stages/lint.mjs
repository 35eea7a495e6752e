// Checks what needs no running program: structure, words, types of tests, rules, layout, and the tests of these
// scripts.
import { checkNativeRules } from '../checks/tidy.mjs';
import { checkApiDocumentation, checkLayout, checkNativeLayout, checkRules, checkTypes } from '../checks/tools.mjs';
import { execute } from '../setup/execute.mjs';
import { progress } from '../setup/process.mjs';
import { root } from '../setup/stamp.mjs';
import { sumOutcomes } from './outcome.mjs';

export const lint = {
  name: 'lint',
  title: 'Lint',
  needs: ['packages', 'dependencies', 'typescript'],
  run: async () => {
    // Imported here, since they use TypeScript and Prettier, which the set-up installs.
    const { checkStructure } = await import('../checks/structure.mjs');
    const { checkDocumentLayout } = await import('../checks/document_layout.mjs');
    const structure = checkStructure();
    // ESLint takes about as long as all other checks together. Node runs the tests of these scripts one after another.
    const [rules, scripts, others] = await Promise.all([
      byTool('rules of eslint.config.js', checkRules),
      scriptTests(),
      oneByOne([
        ['types of tests', checkTypes],
        ['documentation of packages/native', checkApiDocumentation],
        ['layout of TypeScript and JavaScript', checkLayout],
        ['layout of C++', checkNativeLayout],
        ['layout of documents', () => checkDocumentLayout(root)],
        ['rules of packages/native/.clang-tidy', () => checkNativeRules()],
      ]),
    ]);
    return sumOutcomes([structure, rules, scripts, others]);
  },
};

async function byTool(name, check) {
  const { code, output } = await check();
  if (code === 0) return { passed: 1, failures: [] };
  progress(output);
  return { passed: 0, failures: [`${name}: see above`] };
}

async function oneByOne(checks) {
  const results = [];
  for (const [name, check] of checks) results.push(await byTool(name, check));
  return sumOutcomes(results);
}

async function scriptTests() {
  const { code, output } = await execute(process.execPath, ['--test', '--test-reporter=tap', 'scripts/test/'], {
    cwd: root,
  });
  const failures = [...output.matchAll(/^not ok \d+ - (.*)$/gm)].map((match) => `scripts: ${match[1]}`);
  const passed = Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0);
  if (code !== 0 && failures.length === 0) failures.push(`scripts: node --test ended with ${code}`);
  if (passed === 0 && failures.length === 0) failures.push('scripts: no test ran');
  if (failures.length > 0) progress(output);
  return { passed, failures };
}
