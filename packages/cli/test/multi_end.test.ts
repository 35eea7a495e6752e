import { createHash, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FrontNodeStatus } from '@sheaf/gateway';
import { describe, expect, it, vi } from 'vitest';
import { askAdmin } from '../src/admin.js';
import { freePort, start, type RunningProcess } from './support/process.js';
import { sheaf, temporaryDirectory } from './support/world.js';

const large = randomBytes(30_000_000);
const small = randomBytes(2_000);
const sha256 = createHash('sha256').update(large).digest('hex');

interface Nodes {
  directory: string;
  ports: Record<string, number>;
  running: Record<string, RunningProcess>;
}

const names = ['backend1', 'backend2', 'backend3', 'site', 'laptop'] as const;
const addressOf: Record<string, string> = {
  site: '127.0.0.1',
  backend1: '127.0.0.2',
  backend2: '127.0.0.3',
  backend3: '127.0.0.4',
  laptop: '127.0.0.1',
};

/** A gateway, three backends and an edge, each a process of its own. */
async function startNodes(): Promise<Nodes> {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'files', 'any'), { recursive: true });
  await writeFile(join(directory, 'files', 'any', 'large.bin'), large);
  await writeFile(join(directory, 'files', 'any', 'small.bin'), small);
  // Files are strong enough to be resumed once they have not changed for a while.
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const ports: Record<string, number> = {};
  for (const name of names)
    for (const kind of ['listen', 'backbone', 'admin']) ports[`${name} ${kind}`] = await freePort();
  const node = (name: string, kinds: string[], rest: string[]): string =>
    [
      `  ${name}:`,
      ...kinds
        .map((kind) => `${kind}: ${addressOf[name]}:${ports[`${name} ${kind}`]}`)
        .concat(rest)
        .map((line) => `    ${line}`),
    ].join('\n');
  const backend = (name: string): string =>
    node(name, ['listen', 'backbone', 'admin'], ['role: backend', 'primary: site', 'routes: [{ files: files }]']);
  const text = [
    'nodes:',
    node(
      'site',
      ['listen', 'backbone', 'admin'],
      [
        'role: gateway',
        'backends: [backend1, backend2, backend3]',
        'routes: [{ path: /any, backends: [backend1, backend2, backend3] }, { files: files }]',
      ],
    ),
    ...['backend1', 'backend2', 'backend3'].map(backend),
    node('laptop', ['listen', 'admin'], ['role: edge', 'gateway: site', 'paths: [{ local: 127.0.0.1 }]']),
  ].join('\n');
  await writeFile(join(directory, 'sheaf.yaml'), text);
  // One after the other: the first makes the certificate that they share.
  const nodes: Nodes = { directory, ports, running: {} };
  for (const name of names) await startNode(nodes, name);
  return nodes;
}

async function startNode(nodes: Nodes, name: string): Promise<void> {
  const running = start(['up', '--node', name], nodes.directory);
  nodes.running[name] = running;
  await vi.waitFor(() => expect(running.out() + running.err()).toMatch(/ready|error\[/), 60_000);
  expect(running.err()).not.toContain('error[');
}

async function status(nodes: Nodes, name: string): Promise<FrontNodeStatus> {
  return JSON.parse(
    (await askAdmin(`${addressOf[name]}:${nodes.ports[`${name} admin`]}`, '/status')).text,
  ) as FrontNodeStatus;
}

async function backendStates(nodes: Nodes): Promise<string[]> {
  const asked = await status(nodes, 'site');
  return asked.role === 'gateway' ? (asked.backends ?? []).map(({ state }) => state) : [];
}

/** The edge has its connection, and knows all backends. */
async function ready(nodes: Nodes): Promise<void> {
  await vi.waitFor(async () => expect(await backendStates(nodes)).toEqual(['serving', 'serving', 'serving']), {
    timeout: 60_000,
    interval: 200,
  });
  await fetchFrom(nodes, 'laptop', '/any/small.bin');
  await vi.waitFor(async () => expect(await openBackends(nodes)).toBe(3), { timeout: 60_000, interval: 200 });
}

async function openBackends(nodes: Nodes): Promise<number> {
  const asked = await status(nodes, 'laptop');
  return asked.role === 'edge'
    ? (asked.gateway.connections[0]?.backends ?? []).filter(({ state }) => state === 'open').length
    : 0;
}

interface Report {
  status: number;
  sha256: string | null;
  bytes: number;
  backends: { backend: number; bytes_received: number }[];
}

async function fetchFrom(nodes: Nodes, name: string, path: string, ...options: string[]): Promise<Report> {
  const { code, out, err } = await sheaf([
    'fetch',
    '-k',
    '--json',
    ...options,
    `https://${addressOf[name]}:${nodes.ports[`${name} listen`]}${path}`,
  ]);
  expect(err + out, `exit code ${code}`).toContain('"status"');
  return JSON.parse(out) as Report;
}

const busy = async (nodes: Nodes): Promise<string[]> => {
  const asked = await Promise.all(
    ['backend1', 'backend2', 'backend3'].map(
      async (name) => [name, (await status(nodes, name)).requestsActive] as const,
    ),
  );
  return asked.filter(([, requests]) => requests > 0).map(([name]) => name);
};

const count = 6;
const whole = { status: 200, sha256, bytes: count * large.length };

/** Downloads through the edge while something happens to one of the backends that send. */
async function downloadsDuring(nodes: Nodes, fault: (backend: string) => unknown): Promise<Report> {
  const downloads = fetchFrom(
    nodes,
    'laptop',
    '/any/large.bin',
    '--repeat',
    String(count),
    '--parallel',
    String(count),
  );
  const [backend] = await vi.waitFor(
    async () => {
      const sending = await busy(nodes);
      expect(sending.length).toBeGreaterThan(0);
      return sending;
    },
    { timeout: 60_000, interval: 5 },
  );
  await fault(backend!);
  return downloads;
}

describe('a site of several processes', () => {
  it(
    'serves downloads whole while backends crash, drain and come, and while the gateway crashes',
    { timeout: 300_000 },
    async () => {
      const nodes = await startNodes();
      await ready(nodes);

      // A client that is not told of backends in time asks the gateway.
      await vi.waitFor(
        async () => {
          const direct = await fetchFrom(nodes, 'site', '/any/large.bin', '--repeat', '6', '--parallel', '6');
          expect(direct).toMatchObject({ status: 200, sha256 });
          expect(direct.backends.reduce((sum, { bytes_received: bytes }) => sum + bytes, 0)).toBeGreaterThan(
            6 * large.length,
          );
        },
        { timeout: 120_000, interval: 100 },
      );

      let crashed = '';
      expect(
        await downloadsDuring(nodes, (backend) => void nodes.running[(crashed = backend)]!.child.kill('SIGKILL')),
      ).toMatchObject(whole);
      await startNode(nodes, crashed);
      await vi.waitFor(async () => expect(await openBackends(nodes)).toBe(3), { timeout: 90_000, interval: 200 });

      const drained = await downloadsDuring(nodes, async (backend) => {
        expect((await sheaf(['backend', 'drain', backend], nodes.directory)).code).toBe(0);
        crashed = backend;
      });
      expect(drained).toMatchObject(whole);
      await sheaf(['backend', 'resume', crashed], nodes.directory);
      await vi.waitFor(async () => expect(await backendStates(nodes)).toEqual(['serving', 'serving', 'serving']), {
        timeout: 60_000,
        interval: 200,
      });
      await vi.waitFor(async () => expect(await openBackends(nodes)).toBe(3), { timeout: 90_000, interval: 200 });

      // Backends go on without the gateway with the credit that they have; the rest comes once it is back.
      const restarted = await downloadsDuring(nodes, async () => {
        nodes.running['site']!.child.kill('SIGKILL');
        await nodes.running['site']!.exit;
        await startNode(nodes, 'site');
      });
      expect(restarted).toMatchObject(whole);
    },
  );
});
