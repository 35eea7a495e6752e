import { randomBytes } from 'node:crypto';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { freePort } from '../../src/client.js';
import { BackendClient } from '../../src/multi_end/client/backend_client.js';
import type { BackendNodeStatus, GatewayStatus } from '../../src/observability/status.js';
import { collect } from '../support/client.js';
import { ask, connect } from '../support/http3_client.js';
import { WorkersNode } from '../../src/workers/workers_node.js';
import { crash, startWorkers, statusOf, type RunningWorkers } from '../support/workers.js';

const large = randomBytes(8_000_000);

const yamlOf = (port: number, ofGateway: number, ofBackend: number, more = { route: '', backend: '' }): string => `
nodes:
  site:
    role: gateway
    listen: 127.0.0.1:${port}
    backbone: 127.0.0.1:0
    workers: ${ofGateway}
    backends: [one]
    routes: [{ path: /one, backends: [one]${more.route} }, { files: ./gateway }]
  one:
    role: backend
    listen: 127.0.0.1:0
    backbone: 127.0.0.1:0
    workers: ${ofBackend}
    primary: site
    ${more.backend}
    routes: [{ files: ./backend }]
`;
const files = { 'backend/one/a.bin': large, 'backend/one/a.txt': 'backend', 'gateway/b.txt': 'gateway' };

async function start(ofGateway: number, ofBackend: number, returns = false): Promise<RunningWorkers> {
  const port = await freePort();
  const more = {
    route: `, delivery: ${returns ? '[return, proxy]' : 'path'}`,
    backend: returns ? `return: { from: "127.0.0.1:${port}", via: own-address }` : '',
  };
  const site = await startWorkers(yamlOf(port, ofGateway, ofBackend, more), files);
  await utimes(join(site.directory, 'backend/one/a.bin'), 1e9, 1e9);
  await vi.waitFor(async () => expect((await gatewayOf(site)).backends?.[0]?.state).toBe('serving'), 60_000);
  return site;
}

const gatewayOf = async (site: RunningWorkers): Promise<GatewayStatus> => (await site.status()) as GatewayStatus;

describe.each([
  [4, 2],
  [4, 1],
])('a gateway with %i workers and a backend with %i', (ofGateway, ofBackend) => {
  it('hands paths over, on which downloads go on while a worker of the gateway is replaced', async () => {
    const site = await start(ofGateway, ofBackend);
    const connections = await Promise.all(Array.from({ length: 6 }, () => connect(site.port, { multiEnd: true })));
    const clients = connections.map((connection) => new BackendClient(connection));
    for (const client of clients) await client.ready(60_000);
    const bodies = clients.map(async (client) => collect(await client.request({ path: '/one/a.bin' })));
    for (const body of await Promise.all(bodies)) expect(body.equals(large)).toBe(true);
    const { guests } = (await statusOf(site.nodeOf('one'))) as BackendNodeStatus;
    expect(guests).toBe(6);
    expect((await gatewayOf(site)).backends?.[0]).toMatchObject({ connections: 6, proxied: 0 });
    // A route that the backend does not have leads back to the gateway.
    await crash(site.node, 0);
    const another = new BackendClient(await connect(site.port, { multiEnd: true }));
    await another.ready(60_000);
    expect((await collect(await another.request({ path: '/one/a.txt' }))).toString()).toBe('backend');
    const backend = site.nodeOf('one');
    if (!(backend instanceof WorkersNode)) return;
    // What a worker of the backend had, its successor and the others get again.
    for (let worker = 0; worker < ofBackend; worker++) await crash(backend, worker);
    await vi.waitFor(async () => expect((await gatewayOf(site)).backends?.[0]?.state).toBe('serving'), 60_000);
    const last = new BackendClient(await connect(site.port, { multiEnd: true }));
    await last.ready(60_000);
    expect((await collect(await last.request({ path: '/one/a.bin' }))).equals(large)).toBe(true);
  });

  it('delivers responses from the address of the gateway', async () => {
    const site = await start(ofGateway, ofBackend, true);
    const able = 'a backend can send responses from the address of this gateway';
    await vi.waitFor(() => expect(site.log.filter(({ msg }) => msg === able)).toHaveLength(ofGateway), 60_000);
    // All connections of a worker lead to the same one of the backend from the first on.
    expect(site.log.filter(({ msg }) => msg === 'a node cannot be reached over the backbone')).toEqual([]);
    for (let turn = 0; turn < 8; turn++) {
      const { body } = await ask(await connect(site.port), { path: '/one/a.bin' });
      expect(body.equals(large)).toBe(true);
    }
    await vi.waitFor(async () => {
      const [backend] = (await gatewayOf(site)).backends ?? [];
      expect(backend?.deliveries).toMatchObject({ responses: { return: 8 } });
    }, 30_000);
  });
});
