import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { links } from '../checks/documents.mjs';
import { readTracked } from '../checks/tracked_files.mjs';
import { packDocuments } from '../pack/documents.mjs';
import { root } from '../setup/stamp.mjs';

const files = new Map([
  [
    'packages/cli/README.md',
    '[All](../../docs/reference/cli.md#up) [us](../../CONTRIBUTING.md) [code](src) [bin](bin) `[x](../y.md)` ' +
      '[w3](https://www.w3.org/) [here](#b) [bench](../bench/README.md) [its](../gateway/README.md)\n',
  ],
  ['packages/gateway/README.md', '[cli](../cli/README.md)\n'],
  [
    'docs/reference/cli.md',
    '[next](../guide/edge.md) [how](../internals/ways.md#a) [node](../../packages/gateway/README.md)\n',
  ],
  ['docs/guide/edge.md', 'x\n'],
  ['docs/internals/ways.md', 'x\n'],
]);
const shipped = new Map([
  ['cli', new Set(['README.md', 'bin/sheaf.js'])],
  ['gateway', new Set(['README.md'])],
  ['bench', new Set(['README.md'])],
]);
const packed = (name, dependencies) => Object.fromEntries(packDocuments(name, { files, shipped, dependencies }));

test('packed documents link to what is installed, and name the rest', () => {
  assert.deepEqual(packed('cli', ['gateway']), {
    'README.md':
      '[All](../gateway/docs/reference/cli.md#up) us (`CONTRIBUTING.md` of the repository) code (`packages/cli/src` of the repository) ' +
      '[bin](bin) `[x](../y.md)` [w3](https://www.w3.org/) [here](#b) bench (`packages/bench/README.md` of the repository) ' +
      '[its](../gateway/README.md)\n',
  });
});

test('the gateway brings the documents for its users', () => {
  assert.deepEqual(packed('gateway', []), {
    'README.md': 'cli (`packages/cli/README.md` of the repository)\n',
    'docs/reference/cli.md':
      '[next](../guide/edge.md) how (`docs/internals/ways.md` of the repository) [node](../../README.md)\n',
    'docs/guide/edge.md': 'x\n',
  });
});

/** The files that git has and that the package's `files` let in; what is built has no documents, and no links to it. */
function shippedFiles(name) {
  const home = `packages/${name}/`;
  const { files } = JSON.parse(readFileSync(join(root, home, 'package.json'), 'utf8'));
  const wanted = files.filter((each) => !each.startsWith('!'));
  const tracked = execFileSync('git', ['ls-files', home], { cwd: root, encoding: 'utf8' }).trim().split('\n');
  return new Set(
    tracked
      .map((path) => path.slice(home.length))
      .filter((path) => path === 'README.md' || wanted.some((each) => path === each || path.startsWith(`${each}/`))),
  );
}

test('every link of the real packages leads to a file that is installed', () => {
  const all = ['native', 'web-client', 'gateway', 'cli', 'bench'];
  const real = new Map(readTracked(root, /\.md$/).map(({ path, text }) => [path, text]));
  const ships = new Map(all.map((name) => [name, shippedFiles(name)]));
  const installed = new Map();
  for (const name of all) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'));
    const beside = Object.keys(dependencies).flatMap((each) => /^@sheaf\/(.+)$/.exec(each)?.[1] ?? []);
    for (const [path, text] of packDocuments(name, { files: real, shipped: ships, dependencies: beside }))
      installed.set(`${name}/${path}`, text);
    for (const path of ships.get(name)) if (!path.endsWith('.md')) installed.set(`${name}/${path}`, '');
  }
  assert.ok(installed.has('gateway/docs/reference/configuration.md'));
  const broken = [...installed].flatMap(([path, text]) =>
    links(text)
      .filter(({ target }) => !/^(?:[a-z]+:|#)/.test(target))
      .map(({ target }) => normalize(join(dirname(path), target.split('#')[0])))
      .filter((target) => ![...installed.keys()].some((each) => each === target || each.startsWith(`${target}/`)))
      .map((target) => `${path}: ${target}`),
  );
  assert.deepEqual(broken, []);
  assert.match(installed.get('cli/README.md'), /\]\(\.\.\/gateway\/docs\/reference\/cli\.md\)/);
});
