import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import ts from 'typescript';
import { openLaboratory } from '../../../src/evidence/laboratory.js';
import { digestOfSources, measuredFiles } from '../../../src/evidence/results/digests.js';
import { importsOf, withImports } from '../../../src/evidence/results/import_graph.js';
import { runnerModule } from '../../../src/evidence/runners/runner.js';

const { root } = await openLaboratory();

/** Writes files into a new directory. Returns it. */
async function filesIn(files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-digests-'));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(directory, dirname(path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  return directory;
}

const workspace = {
  'a/runner.ts': "import { measure } from './build/measure.js';\nimport type { Only } from './types.js';\nmeasure();\n",
  'a/types.ts': 'export type Only = string;\n',
  'a/build/measure.ts':
    "import { fault } from '@sheaf/tool';\nexport const measure = () => start(join(import.meta.dirname, '../process.js'), fault);\n",
  'a/process.ts': "await import('./late.js');\n",
  'a/late.ts': '',
  'a/unused.ts': '',
  'packages/tool/package.json': '{ "exports": { ".": { "default": "./dist/index.js" } } }',
  'packages/tool/src/index.ts': "export { other } from './other.js';\nexport { inner as fault } from './fault.js';\n",
  'packages/tool/src/other.ts': '',
  'packages/tool/src/fault.ts': '',
};
const deciding = ['a/build/measure.ts', 'a/late.ts', 'a/process.ts', 'a/runner.ts', 'packages/tool/src/fault.ts'];

test('a module stands for what it imports, starts and takes from packages, and for nothing else', async () => {
  expect(withImports(await filesIn(workspace), ['a/runner.ts'])).toEqual(deciding);
});

test.each(Object.keys(workspace).filter((path) => path.endsWith('.ts')))(
  'a change of %s changes the digest if it decides figures',
  async (path) => {
    const directory = await filesIn(workspace);
    const before = digestOfSources(directory, ['a/runner.ts']);
    await writeFile(join(directory, path), `${await readFile(join(directory, path), 'utf8')}// changed\n`);
    expect(digestOfSources(directory, ['a/runner.ts']) !== before).toBe(deciding.includes(path));
  },
);

test('of folders only what is built beside programs is left out', async () => {
  const directory = await filesIn({ 'peers/build/page.rs': '', 'peers/target/page.o': '', 'peers/main.rs': '' });
  expect(measuredFiles(directory, ['peers'])).toEqual(['peers/build/page.rs', 'peers/main.rs']);
});

test('pages that a run builds from tables do not change its digest', async () => {
  const directory = await filesIn({
    'fixtures/pages/news.tsv': '',
    'fixtures/pages/build/news/index.html': '',
    'fixtures/pages/build.17.part/news/index.html': '',
  });
  expect(measuredFiles(directory, ['fixtures/pages'])).toEqual(['fixtures/pages/news.tsv']);
});

test('an import that a package does not export by name stands for the whole package', async () => {
  const directory = await filesIn({ ...workspace, 'a/runner.ts': "import * as tool from '@sheaf/tool';\n" });
  expect(withImports(directory, ['a/runner.ts'])).toEqual(
    expect.arrayContaining(['packages/tool/src/other.ts', 'packages/tool/src/fault.ts']),
  );
});

test('the runners of browsers and of processes cover what starts, builds and serves', () => {
  const files = (name: string): string[] => withImports(root, [runnerModule(name)]);
  const bench = 'packages/bench/src';
  expect(files('pages_browser.ts')).toEqual(
    expect.arrayContaining([
      `${bench}/pages/build/fixtures.ts`,
      `${bench}/pages/simulation/network.ts`,
      `${bench}/pages/real/node_process.ts`,
      'packages/native/lib/addon.ts',
    ]),
  );
  for (const name of ['http.ts', 'multi_end_processes.ts', 'paths_loopback.ts'])
    expect(files(name)).toEqual(
      expect.arrayContaining([`${bench}/http/sheaf_process.ts`, 'packages/gateway/src/nodes/start_nodes.ts']),
    );
  expect(files('http.ts')).toContain(`${bench}/process/processor_time.ts`);
});

test('no runner in virtual time depends on gateways, and none on reports and documents', async () => {
  const names = (await readdir(join(root, runnerModule('')))).filter((name) => name !== 'index.ts');
  for (const name of names) {
    const files = withImports(root, [runnerModule(name)]);
    expect(files.filter((file) => /evidence\/(?:report|documents|verdict|evidence)/.test(file))).toEqual([]);
    if (name.includes('simulation')) expect(files.filter((file) => file.includes('gateway/src/nodes'))).toEqual([]);
  }
});

/** Returns the modules of its own package that a file loads, as the compiler reads it. */
function importsByCompiler(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const specifier =
      (ts.isImportDeclaration(node) && node.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword) ||
      (ts.isExportDeclaration(node) && !node.isTypeOnly)
        ? node.moduleSpecifier
        : ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
          ? node.arguments[0]
          : undefined;
    if (specifier && ts.isStringLiteral(specifier) && specifier.text.startsWith('.')) found.push(specifier.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found.map((path) => join(dirname(file), path.replace(/\.js$/, '.ts')));
}

test('the imports of every source are those that the compiler reads', async () => {
  const folders = ['bench/src', 'cli/src', 'gateway/src', 'native/lib', 'web-client/src'];
  let count = 0;
  for (const folder of folders.map((name) => join('packages', name))) {
    const names = await readdir(join(root, folder), { recursive: true });
    for (const file of names.filter((name) => name.endsWith('.ts')).map((name) => join(folder, name))) {
      const expected = importsByCompiler(file, await readFile(join(root, file), 'utf8'));
      expect(importsOf(root, file), file).toEqual(expect.arrayContaining(expected));
      count += expected.length;
    }
  }
  expect(count).toBeGreaterThan(500);
});
