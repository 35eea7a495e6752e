import { expect, it, vi } from 'vitest';
import { loadedSite, textOf } from '../support/loaded_site.js';
import { residentBytes, startProcess } from '../support/node_process.js';
import { inMegabytes, reloads } from '../support/repetitions.js';
import { startLoad } from '../support/steady_load.js';

it(`${reloads} reloads of nodes with two workers under load fail no request, and close no connection`, async () => {
  const site = await loadedSite({ workers: 2 });
  const node = await startProcess({ file: site.file, admin: site.gateway.admin });
  await vi.waitFor(async () => expect((await node.status()).backends?.[0]?.state).toBe('serving'), 60_000);
  const { pid, certificate } = await node.status();
  const load = await startLoad({
    port: site.gateway.listen,
    hash: certificate.sha256,
    downloads: site.downloads,
    pauseMs: 10,
  });

  const resident: number[] = [];
  for (let generation = 1; generation <= reloads; generation++) {
    await site.write(generation);
    expect(await node.reload()).toMatchObject({ accepted: true });
    const now = [textOf(generation)];
    await load.turn({ kept: now, fresh: now, backend: now });
    if (generation % (reloads / 4) === 0) resident.push(await residentBytes(pid));
  }
  const asked = await load.end();
  const status = await node.status();
  const { deliveries } = status.backends![0]!;
  console.info(
    `${reloads} reloads: ${asked} requests, ${JSON.stringify(deliveries.responses)}, ${resident.map(inMegabytes).join(', ')} MB`,
  );
  // Only clients that open no path to the backend need the gateway for its pages.
  expect(deliveries.fallbacks).not.toHaveProperty('multi-end');
  expect(deliveries.responses.return).toBeGreaterThan(0);
  expect(status.workers?.map(({ restarts }) => restarts)).toEqual([0, 0]);
  expect(resident.at(-1)! - resident[0]!).toBeLessThan(32 * 2 ** 20);
}, 400_000);
