import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Gateway, loadConfiguration, onlyGateway, parseConfiguration } from '@sheaf/gateway';
import { connectHttp3 } from '@sheaf/native';
import { expect, test } from 'vitest';
import { benchNames } from '../src/run_bench.js';

const root = join(import.meta.dirname, '..', '..', '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

test("the README's configuration is valid", () => {
  const examples = [...readme.matchAll(/^```yaml\n(.*?)^```$/gms)].map((match) => match[1] ?? '');
  expect(examples).toHaveLength(1);
  for (const example of examples) {
    const { node } = onlyGateway(parseConfiguration(example, join(root, 'sheaf.yaml')));
    expect(node.listen).toMatchObject({ address: '127.0.0.1', port: 4433 });
    expect(node.routes).toHaveLength(3);
  }
});

test('every experiment that the README names exists', () => {
  const named = [...readme.matchAll(/sheaf bench ([\w-]+)/g)].map((match) => match[1]);
  expect(named.length).toBeGreaterThan(0);
  for (const name of named) expect(benchNames).toContain(name);
});

test('every npm script that the documents name exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  for (const document of ['README.md', 'CONTRIBUTING.md', 'docs/reference/cli.md']) {
    // `npm test` and `npm start` need no `run`; everything else does.
    const named = [
      ...readFileSync(join(root, document), 'utf8').matchAll(
        /\bnpm (?:--silent )?(?:run (?:--silent )?([\w:-]+)|(test)\b)/g,
      ),
    ].map((match) => match[1] ?? match[2] ?? '');
    expect(named.length, document).toBeGreaterThan(0);
    for (const name of named) expect(Object.keys(scripts), document).toContain(name);
  }
});

test("the README's configuration is served", async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-readme-'));
  const upstream = createServer((request, response) => response.end(`upstream got ${request.url}`)).listen(
    0,
    '127.0.0.1',
  );
  await once(upstream, 'listening');
  try {
    mkdirSync(join(directory, 'site'));
    writeFileSync(join(directory, 'site', 'index.html'), 'the site');
    const [example = ''] = [...readme.matchAll(/^```yaml\n(.*?)^```$/gms)].map((match) => match[1] ?? '');
    const { port } = upstream.address() as AddressInfo;
    // The ports may be taken on this machine; all else stays.
    const text = example
      .replace('127.0.0.1:4433', '127.0.0.1:0')
      .replace('127.0.0.1:9433', '127.0.0.1:0')
      .replace('127.0.0.1:3000', `127.0.0.1:${port}`);
    writeFileSync(join(directory, 'sheaf.yaml'), `${text}log: { level: silent }\n`);
    const gateway = await Gateway.start(onlyGateway(await loadConfiguration(join(directory, 'sheaf.yaml'))));
    try {
      const client = await connectHttp3({
        host: '127.0.0.1',
        port: gateway.address.port,
        alpn: ['h3'],
        insecure: true,
      });
      const body = async (path: string) => Buffer.concat(await (await client.request({ path })).toArray()).toString();
      expect(await body('/')).toBe('the site');
      expect(await body('/api/x')).toBe('upstream got /api/x');
      await client.close();
      const admin = gateway.adminAddress;
      for (const path of ['/healthz', '/metrics', '/status'])
        expect((await fetch(`http://127.0.0.1:${admin?.port}${path}`)).status).toBe(200);
    } finally {
      await gateway.close(0);
    }
  } finally {
    upstream.close();
    upstream.closeAllConnections();
    rmSync(directory, { recursive: true });
  }
});

test('every file that the root documents link to exists', () => {
  for (const document of [
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'docs/decisions/README.md',
    'packages/native/README.md',
    'packages/bench/README.md',
  ]) {
    const path = join(root, document);
    for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(/\]\(([^)#:]+)\)/g)) {
      expect(() => readFileSync(join(path, '..', target)), `${document}: ${target}`).not.toThrow(/ENOENT/);
    }
  }
});
