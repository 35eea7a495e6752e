import { expect, it, vi } from 'vitest';
import type { BackendNodeStatus } from '../../src/observability/status.js';
import { get } from '../support/client.js';
import { loadedSite, textOf } from '../support/loaded_site.js';
import { residentBytes, startProcess, type NodeProcess } from '../support/node_process.js';
import { inMegabytes, upgrades } from '../support/repetitions.js';
import { startLoad } from '../support/steady_load.js';

/** Another process takes over. Resolves with its memory. */
async function upgrade(node: Pick<NodeProcess, 'upgrade'>): Promise<number> {
  const outcome = await node.upgrade();
  if (!outcome.accepted) throw new Error(outcome.refusal.text);
  return residentBytes(outcome.after.pid);
}

/** The largest of the first half, at most five, and of as many at the end */
function ends(resident: readonly number[]): [number, number] {
  const many = Math.min(5, Math.floor(resident.length / 2));
  return [Math.max(...resident.slice(0, many)), Math.max(...resident.slice(-many))];
}

it(`${upgrades} upgrades of a gateway and of its backend under load fail no request, and close no connection`, async () => {
  const site = await loadedSite({ workers: 2, fleet: true });
  const { file, downloads } = site;
  const gateway = await startProcess({ file, name: 'site', admin: site.gateway.admin });
  const backend = await startProcess<BackendNodeStatus>({ file, name: 'one', admin: site.backend.admin });
  await vi.waitFor(async () => expect((await gateway.status()).backends?.[0]?.state).toBe('serving'), 60_000);
  const first = await gateway.status();
  const load = await startLoad({
    port: site.gateway.listen,
    hash: first.certificate.sha256,
    downloads,
    pauseMs: 50,
  });

  const resident: Record<'gateway' | 'backend' | 'first', number[]> = { gateway: [], backend: [], first: [] };
  const any = ['even', 'odd'];
  for (let generation = 1; generation <= upgrades; generation++) {
    await site.write(generation);
    const now = [textOf(generation)];
    resident.gateway.push(await upgrade(gateway));
    // New connections are those of the new process, and old ones stay with the first.
    await load.turn({ kept: ['even'], fresh: now, backend: any });
    resident.backend.push(await upgrade(backend));
    // The gateway asks the new process, while the first one still has clients.
    await vi.waitFor(
      async () => expect((await get(site.gateway.listen, '/one/a.txt')).body.toString()).toBe(now[0]),
      60_000,
    );
    await load.turn({ kept: ['even'], fresh: now, backend: any });
    resident.first.push(await residentBytes(first.pid));
  }
  const asked = await load.end();
  const status = await gateway.status();
  console.info(
    [
      `${upgrades} upgrades of each: ${asked} requests, ${JSON.stringify(status.backends![0]!.deliveries.responses)}`,
      ...Object.entries(resident).map(([name, all]) => `${name} ${all.map(inMegabytes).join(', ')} MB`),
    ].join('\n'),
  );
  expect(status).toMatchObject({ upgrade: { generation: upgrades }, certificate: first.certificate });
  expect(status).toMatchObject({ registry: { connected: true }, forwarding: { machines: 0 } });
  expect(status.registry?.nodes.map(({ name, state }) => [name, state])).toEqual([
    ['one', 'alive'],
    ['site', 'alive'],
  ]);
  expect((await backend.status()).upgrade).toMatchObject({ generation: upgrades });
  // With their last connections, the processes of before end, and the new backend has its gateway.
  expect(await Promise.all([gateway.exit, backend.exit])).toEqual([0, 0]);
  await vi.waitFor(async () => {
    expect((await gateway.status()).upgrade?.predecessors).toBe(0);
    expect((await get(site.gateway.listen, '/one/a.txt')).body.toString()).toBe(textOf(upgrades));
  }, 60_000);
  for (const all of Object.values(resident)) {
    const [before, after] = ends(all);
    expect(after - before).toBeLessThan(16 * 2 ** 20);
  }
}, 900_000);
