import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseConfiguration } from '@sheaf/gateway';
import { expect, test } from 'vitest';
import { benchNames } from '../src/run_bench.js';

const root = join(import.meta.dirname, '..', '..', '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

test("the README's configuration is valid", () => {
  const examples = [...readme.matchAll(/^```yaml\n(.*?)^```$/gms)].map((match) => match[1] ?? '');
  expect(examples).toHaveLength(1);
  for (const example of examples) {
    const { node } = parseConfiguration(example, join(root, 'sheaf.yaml'));
    expect(node.listen).toMatchObject({ address: '127.0.0.1', port: 4433 });
    expect(node.routes).toHaveLength(3);
  }
});

test('every experiment that the README names exists', () => {
  const named = [...readme.matchAll(/sheaf bench (\w+)/g)].map((match) => match[1]);
  expect(named.length).toBeGreaterThan(0);
  for (const name of named) expect(benchNames).toContain(name);
});

test("every npm script that the README names exists", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  const named = [...readme.matchAll(/npm (?:run )?(demo|test|setup|\w+:\w+)/g)].map((match) => match[1] ?? '');
  for (const name of named) expect(Object.keys(scripts)).toContain(name);
});

test('every file that the root documents link to exists', () => {
  for (const document of ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/decisions/README.md', 'packages/native/README.md', 'packages/bench/README.md']) {
    const path = join(root, document);
    for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(/\]\(([^)#:]+)\)/g)) {
      expect(() => readFileSync(join(path, '..', target)), `${document}: ${target}`).not.toThrow(/ENOENT/);
    }
  }
});
