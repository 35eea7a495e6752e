import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { checkDocumentLayout, laidOut } from '../checks/document_layout.mjs';
import { checkApiDocumentation, checkLayout, checkNativeLayout, checkTypes } from '../checks/tools.mjs';
import { checkNativeRules } from '../checks/tidy.mjs';
import { root } from '../setup/stamp.mjs';

const directory = mkdtempSync(join(tmpdir(), 'sheaf-lint-'));
after(() => rmSync(directory, { recursive: true }));

function written(name, text) {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

/** Returns the compiler's output for a file under the options of every package. */
async function typesOf(name, text) {
  written(`${name}.mts`, text);
  const options = {
    noEmit: true,
    typeRoots: [join(root, 'node_modules/@types')],
    tsBuildInfoFile: join(directory, `${name}.tsbuildinfo`),
  };
  return checkTypes(
    written(
      `${name}.json`,
      JSON.stringify({ extends: join(root, 'tsconfig.base.json'), compilerOptions: options, files: [`${name}.mts`] }),
    ),
  );
}

test('types: a test without types and a symbol that nothing uses are refused', async () => {
  const typed = await typesOf('typed', 'export const double = (value: number): number => 2 * value;\n');
  assert.equal(typed.code, 0, typed.output);
  assert.match((await typesOf('untyped', 'export const double = (value) => 2 * value;\n')).output, /TS7006/);
  assert.match(
    (await typesOf('unused', "import { join } from 'node:path';\nexport const one = 1;\n")).output,
    /TS6133/,
  );
});

test('types: every package has its tests checked', () => {
  const { references } = JSON.parse(readFileSync(join(root, 'tsconfig.test.json'), 'utf8'));
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/test`);
  assert.deepEqual(references.map(({ path }) => path).sort(), packages.sort());
});

test('documentation: a symbol without any, and one that is not exported, are refused', async () => {
  const hidden = '/** A. */\ninterface Hidden {\n  /** B. */\n  one: number;\n}\n';
  const file = written(
    'interface.ts',
    `${hidden}/** C. */\nexport const open: Hidden = { one: 1 };\nexport const bare = 2;\n`,
  );
  written('package.json', '{ "name": "documented" }');
  const tsconfig = written('interface.json', '{ "compilerOptions": { "types": [] }, "files": ["interface.ts"] }');
  const own = { extends: [join(root, 'packages/native/typedoc.json')], entryPoints: [file], tsconfig, readme: 'none' };
  const { code, output } = await checkApiDocumentation(written('typedoc.json', JSON.stringify(own)));
  assert.notEqual(code, 0);
  assert.match(output, /bare .*does not have any documentation/);
  assert.match(output, /Hidden, .*is referenced by .*open but not included/);
});

test('layout: a file that no formatter wrote is refused', async () => {
  assert.equal((await checkLayout([written('formatted.ts', 'export const one = 1;\n')])).code, 0);
  assert.match((await checkLayout([written('unformatted.ts', 'export const one=1\n')])).output, /unformatted\.ts/);
  assert.equal((await checkNativeLayout([written('formatted.cc', 'int one = 1;\n')])).code, 0);
  assert.match((await checkNativeLayout([written('unformatted.cc', 'int one=1;\n')])).output, /unformatted\.cc/);
});

test('layout of documents: tables are not padded, emphasis has stars, and code stays', async () => {
  const text = '# A\n\nSome *word* and `_code_`.\n\n| a | b |\n| --- | --- |\n| long |  |\n\n```js\nconst one=1\n```\n';
  assert.equal(await laidOut(text), text);
  assert.equal(
    await laidOut('# A\nSome _word_ and `_code_`.\n\n|a|b|\n|-|-|\n|long||\n\n```js\nconst one=1\n```'),
    text,
  );
  assert.equal((await checkDocumentLayout(root, [{ path: 'a.md', text }])).code, 0);
  const padded = [{ path: 'b.md', text: '| a    | b |\n| --- | --- |\n' }];
  assert.match((await checkDocumentLayout(root, padded)).output, /b\.md: not laid out/);
});

test('rules of C++: a condition with the same branches and a function that nothing calls are refused', async () => {
  const text = (other) => `int chosen(bool first) {\n  if (first) return 1;\n  else return ${other};\n}\n`;
  const passed = await checkNativeRules([written('branches.cc', text(2))]);
  assert.equal(passed.code, 0, passed.output);
  assert.match((await checkNativeRules([written('same.cc', text(1))])).output, /bugprone-branch-clone/);
  const unused = written('unused.cc', 'namespace {\nint two() { return 2; }\n}  // namespace\n');
  assert.match((await checkNativeRules([unused])).output, /'two' .*clang-diagnostic-unused-function/);
});

test('rules: a promise that nobody waits for is refused', () => {
  // The rules need types, so the text replaces that of a file that the compiler knows.
  const judge = (input) =>
    spawnSync(
      process.execPath,
      ['node_modules/eslint/bin/eslint.js', '--stdin', '--stdin-filename', 'packages/gateway/src/errors/exit_codes.ts'],
      { cwd: root, input, encoding: 'utf8' },
    );
  const waited = judge('export const wait = async (): Promise<void> => {\n  await Promise.resolve();\n};\n');
  assert.equal(waited.status, 0, waited.stdout + waited.stderr);
  assert.match(judge('export const wait = (): void => {\n  Promise.resolve();\n};\n').stdout, /no-floating-promises/);
});
