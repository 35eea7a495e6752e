import { expect, it, vi } from 'vitest';
import type { BackendNodeStatus, EdgeStatus } from '../../src/observability/status.js';
import { loadedSite } from '../support/loaded_site.js';
import { startProcess } from '../support/node_process.js';
import { upgrades } from '../support/repetitions.js';
import { startLoad } from '../support/steady_load.js';

it(`${upgrades} upgrades of an edge with two workers under load fail no request, and close no connection`, async () => {
  const site = await loadedSite({ workers: 2, edge: true });
  const { file, downloads } = site;
  const gateway = await startProcess({ file, name: 'site', admin: site.gateway.admin });
  await startProcess<BackendNodeStatus>({ file, name: 'one', admin: site.backend.admin });
  await vi.waitFor(async () => expect((await gateway.status()).backends?.[0]?.state).toBe('serving'), 60_000);
  const edge = await startProcess<EdgeStatus>({ file, name: 'laptop', admin: site.edge.admin });
  const { certificate } = await edge.status();
  const load = await startLoad({
    port: site.edge.listen,
    hash: certificate.sha256,
    downloads,
    pauseMs: 50,
    isEdge: true,
  });
  const expected = { kept: ['even'], fresh: ['even'], backend: ['even'] };
  for (let generation = 1; generation <= upgrades; generation++) {
    expect(await edge.upgrade()).toMatchObject({ accepted: true });
    await load.turn(expected);
    // The new process has ways of its own to the gateway.
    const { upgrade, gateway: link } = await edge.status();
    expect([upgrade?.generation, link.state, link.connections.length > 0]).toEqual([generation, 'open', true]);
  }
  const asked = await load.end();
  console.info(`${upgrades} upgrades of an edge: ${asked} requests`);
  expect(await edge.exit).toBe(0);
  await vi.waitFor(async () => expect((await edge.status()).upgrade?.predecessors).toBe(0), 60_000);
  // Connections of the processes before have ended with them.
  await vi.waitFor(async () => {
    const { gateway: link } = await edge.status();
    expect((await gateway.status()).connections).toHaveLength(link.connections.length);
  }, 60_000);
}, 300_000);
