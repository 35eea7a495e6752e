import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished, vi } from 'vitest';
import { UpstreamGroup } from '../../../src/targets/upstream/upstream_group.js';
import { loadedSite, textOf } from '../../support/loaded_site.js';
import { startReloadingFile } from '../../support/reloading.js';
import { inMegabytes, reloads } from '../../support/repetitions.js';
import { startLoad } from '../../support/steady_load.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns weak references to the groups that are opened from now on. A spy would keep them all as its results. */
function watchGroups(): WeakRef<UpstreamGroup>[] {
  const groups: WeakRef<UpstreamGroup>[] = [];
  const open = UpstreamGroup.open.bind(UpstreamGroup);
  UpstreamGroup.open = async (...options) => {
    const group = await open(...options);
    groups.push(new WeakRef(group));
    return group;
  };
  onTestFinished(() => void (UpstreamGroup.open = open));
  return groups;
}

it(`${reloads} reloads under load fail no request, close no connection, and leave nothing behind`, async () => {
  const groups = watchGroups();
  const site = await loadedSite();
  const { downloads } = site;
  const { gateway, change, status, log } = await startReloadingFile(site.file);
  await vi.waitFor(() => expect(status().backends?.[0]?.state).toBe('serving'), 30_000);
  const { hash } = gateway.certificate;
  const load = await startLoad({ port: site.gateway.listen, hash, downloads, pauseMs: 10 });
  const opened = groups.length;

  const heap: number[] = [];
  const handles: number[] = [];
  for (let generation = 1; generation <= reloads; generation++) {
    expect(await change(site.yamlOf(generation))).toMatchObject({ accepted: true });
    const now = [textOf(generation)];
    await load.turn({ kept: now, fresh: now, backend: now });
    if (generation % (reloads / 4) !== 0) continue;
    collectGarbage();
    heap.push(process.memoryUsage().heapUsed);
    handles.push(process.getActiveResourcesInfo().filter((name) => name !== 'Timeout' && name !== 'Immediate').length);
  }
  const asked = await load.end();
  console.info(`${reloads} reloads: ${asked} requests, heap ${heap.map(inMegabytes).join(', ')} MB`);
  // Checks of servers end with the configuration that asks for them.
  expect(log.filter(({ msg }) => msg === 'upstream is down')).toEqual([]);
  expect(status().requestsTotal).toBeGreaterThan(asked / 2);

  // What generations leave behind would be as many groups as there were reloads, each with its connections.
  await vi.waitFor(() => {
    collectGarbage();
    expect(groups.filter((group) => group.deref()).length).toBeLessThan(opened + reloads / 5);
  }, 30_000);
  expect(groups).toHaveLength(opened * (reloads + 1));
  // Connections for single requests are open at any moment.
  expect(handles.at(-1)).toBeLessThanOrEqual(handles[0]! + 10);
  expect(heap.at(-1)! - heap[0]!).toBeLessThan(8 * 2 ** 20);
}, 400_000);
