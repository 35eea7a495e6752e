import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { unitPrograms } from '../stages/listed.mjs';
import { runUnitTests, unit } from '../stages/unit.mjs';

/** A build folder in which each program reports as many tests as its sources declare, and its priority. Returns its path. */
function buildFolder(context, names) {
  const build = mkdtempSync(join(tmpdir(), 'sheaf-unit-'));
  context.after(() => rmSync(build, { recursive: true }));
  mkdirSync(join(build, 'tests'));
  for (const name of names) {
    const testsuite = Array.from({ length: unitPrograms().get(name) }, (_, index) => ({
      name: `Test${index}`,
      result: 'COMPLETED',
    }));
    const report = JSON.stringify({ testsuites: [{ name, testsuite }] });
    const path = join(build, 'tests', name);
    writeFileSync(path, `#!/bin/sh\necho '${report}' > "\${2#--gtest_output=json:}"\nnice >> "$0.runs"\n`);
    chmodSync(path, 0o755);
  }
  return build;
}

/** Priorities of a program's runs, one a line */
const readPriorities = (build, name) => readFileSync(join(build, 'tests', `${name}.runs`), 'utf8');

const names = ['wire_test', 'io_test'];
const others = [...unitPrograms().keys()].filter((name) => !names.includes(name));
const notBuilt = others.map((name) => `${name}: no test program ran`);
const declared = names.reduce((sum, name) => sum + unitPrograms().get(name), 0);

test('a program runs once: before its stage without sockets, and in the stage with them', async (context) => {
  const build = buildFolder(context, names);
  const begun = unit.meanwhile(build);
  assert.deepEqual([...(await begun).keys()], ['wire_test']);
  const { passed, failures } = await runUnitTests(build, () => ({}), begun);
  assert.equal(passed, declared);
  assert.deepEqual(failures.sort(), notBuilt.sort());
  assert.equal(readPriorities(build, 'wire_test'), '19\n');
  assert.match(readPriorities(build, 'io_test'), /^\d+\n$/);
});

test('every program runs in the stage when none ran before', async (context) => {
  const build = buildFolder(context, names);
  for (const begun of [undefined, Promise.resolve(undefined)])
    assert.equal((await runUnitTests(build, () => ({}), begun)).passed, declared);
});

test('a program that was built anew since it ran, runs again', async (context) => {
  const build = buildFolder(context, names);
  const begun = unit.meanwhile(build);
  await begun;
  utimesSync(join(build, 'tests', 'wire_test'), 1, 1);
  await runUnitTests(build, () => ({}), begun);
  assert.match(readPriorities(build, 'wire_test'), /^19\n\d+\n$/);
});

test('a program that ran too few tests before its stage is a failure', async (context) => {
  const build = buildFolder(context, names);
  const { mtimeMs: builtAt } = statSync(join(build, 'tests', 'wire_test'));
  const few = new Map([['wire_test', { passed: 1, failures: [], skipped: [], broken: [], builtAt }]]);
  const { failures } = await runUnitTests(build, () => ({}), Promise.resolve(few));
  assert.deepEqual(
    failures.filter((each) => each.startsWith('wire_test')),
    [`wire_test: ran 1 of ${unitPrograms().get('wire_test')} tests`],
  );
});
