import { randomBytes } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { Backend } from '../../../src/nodes/backend.js';
import { BackendClient } from '../../../src/multi_end/client/backend_client.js';
import { collect } from '../../support/client.js';
import { connect } from '../../support/http3_client.js';
import { startReloading, type Reloading } from '../../support/reloading.js';

const large = randomBytes(16_000_000);
const files = { 'old/one/a.bin': large, 'old/one/a.txt': 'old', 'new/one/a.txt': 'new', 'new/two/a.txt': 'two' };

interface Wanted {
  routes?: string;
  root?: string;
  backendListen?: string;
  health?: string;
  edge?: string;
}

const one = '{ path: /one, backends: [one] }';

const yamlOf = ({
  routes = one,
  root = 'old',
  backendListen = '127.0.0.1:0',
  health = '1s',
  edge = '60s',
}: Wanted): string => `
nodes:
  site:
    role: gateway
    listen: 127.0.0.1:0
    backbone: 127.0.0.1:0
    backends: [{ name: one, health: { interval: ${health} } }]
    routes: [${routes}, { files: ./old }]
  one:
    role: backend
    listen: ${backendListen}
    backbone: 127.0.0.1:0
    primary: site
    routes: [{ files: ./${root} }]
  laptop:
    role: edge
    listen: 127.0.0.1:0
    gateway: site
    limits: { idle: ${edge} }
`;

async function start(): Promise<Reloading & { backend: Backend }> {
  const site = await startReloading({ yaml: yamlOf({}), files });
  const backend = site.running.nodes[1];
  if (!(backend instanceof Backend)) throw new Error('the second node is no backend');
  await vi.waitFor(() => expect(site.status().backends?.[0]?.state).toBe('serving'), 30_000);
  return { ...site, backend };
}

it('a path to a backend outlives reloads of both, and their new routes are asked for on it', async () => {
  const site = await start();
  const connection = await connect(site.port, { multiEnd: true });
  const client = new BackendClient(connection);
  await client.ready(60_000);
  const proxied = (): number | undefined => site.status().backends?.[0]?.proxied;
  const text = async (path: string): Promise<string> => (await collect(await client.request({ path }))).toString();
  expect(await text('/one/a.txt')).toBe('old');
  const download = await client.request({ path: '/one/a.bin' });
  for (let turn = 0; turn < 10; turn++) {
    const root = turn % 2 === 0 ? 'new' : 'old';
    const routes = turn % 2 === 0 ? `${one}, { path: /two, backends: [one] }` : one;
    expect(await site.change(yamlOf({ root, routes }))).toMatchObject({
      accepted: true,
      changes: [
        { node: 'site', option: 'routes', name: '/two', change: turn % 2 === 0 ? 'added' : 'removed' },
        { node: 'one', option: 'routes', name: '/', change: 'changed' },
      ],
    });
    expect(await text('/one/a.txt')).toBe(root);
  }
  expect((await collect(download)).equals(large)).toBe(true);
  await site.change(yamlOf({ root: 'new', routes: `${one}, { path: /two, backends: [one] }` }));
  // The first response to tell of the new route comes through the gateway.
  await vi.waitFor(async () => {
    const before = proxied();
    expect(await text('/two/a.txt')).toBe('two');
    expect(proxied()).toBe(before);
  }, 30_000);
  expect(connection.status().backends).toMatchObject([{ state: 'open' }]);
  expect(site.status().connections).toHaveLength(1);
  expect(site.backend.status()).toMatchObject({ guests: 1, primary: { connected: true } });
});

it.each([
  ['where a backend listens', { backendListen: '127.0.0.2:0' }, '`listen` of `one`'],
  ['how a backend is checked', { health: '2s' }, '`backends` of `site`'],
  ['an edge', { edge: '50s' }, '`limits.idle` of `laptop`'],
])('a reload cannot change %s, and then changes no other node either', async (_what, wanted: Wanted, key) => {
  const site = await start();
  const { version } = site.status().configuration!;
  expect(await site.change(yamlOf({ root: 'new', ...wanted }))).toMatchObject({
    accepted: false,
    refusal: { code: 'RELOAD_NEEDS_RESTART', message: expect.stringContaining(key) as string },
  });
  expect(site.backend.status().configuration).toMatchObject({ version, refused: { code: 'RELOAD_NEEDS_RESTART' } });
  const client = new BackendClient(await connect(site.port, { multiEnd: true }));
  expect((await collect(await client.request({ path: '/one/a.txt' }))).toString()).toBe('old');
});
