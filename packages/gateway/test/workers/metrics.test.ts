import { expect, it } from 'vitest';
import { ask, connect } from '../support/http3_client.js';
import { crash, startWorkers } from '../support/workers.js';

const yaml = 'listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nworkers: 3\nroutes: [{ files: ./site }]\n';

async function start() {
  const site = await startWorkers(yaml);
  const { port } = site.node.adminAddress!;
  const read = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  /** Sum of a metric over all of its labels */
  const metric = async (name: string): Promise<number> => {
    const lines = (await read('/metrics')).split('\n').filter((line) => new RegExp(`^${name}[{ ]`).test(line));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  const request = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time++) {
      const client = await connect(site.port);
      await ask(client, { path: '/a.txt' });
      await client.close();
    }
  };
  return { ...site, read, metric, request };
}

it('one page has what all workers count, and no counter goes back when one is replaced', async () => {
  const site = await start();
  await site.request(12);
  expect(await site.metric('sheaf_http_requests_total')).toBe(12);
  expect(await site.metric('sheaf_http_request_seconds_count')).toBe(12);
  expect(await site.metric('sheaf_quic_connections_accepted_total')).toBe(12);
  expect(await site.metric('sheaf_build_info')).toBe(1);
  const page = await site.read('/metrics');
  expect(page.match(/^process_cpu_seconds_total /gm)).toHaveLength(1);
  expect(page.match(/^sheaf_worker_heap_bytes\{worker="\d"\}/gm)).toHaveLength(3);
  // The date is that of one certificate, and not the sum of three.
  expect(await site.metric('sheaf_certificate_expiry_seconds')).toBeLessThan(Date.now() / 1_000 + 20 * 86_400);
  for (const worker of [0, 1, 2]) await crash(site.node, worker);
  expect(await site.metric('sheaf_http_requests_total')).toBe(12);
  expect(await site.metric('sheaf_worker_restarts_total')).toBe(3);
  await site.request(3);
  expect(await site.metric('sheaf_http_requests_total')).toBe(15);
});

it('the status names the workers, and sums what they do', async () => {
  const site = await start();
  const client = await connect(site.port);
  await ask(client, { path: '/a.txt' });
  const status = JSON.parse(await site.read('/status')) as Awaited<ReturnType<typeof site.status>>;
  expect(status).toMatchObject({ state: 'serving', requestsTotal: 1, steering: 'ids', routes: [{ route: '/' }] });
  expect(status.connections).toHaveLength(1);
  expect(status.workers?.map(({ worker, state }) => [worker, state])).toEqual([
    [0, 'serving'],
    [1, 'serving'],
    [2, 'serving'],
  ]);
  expect(await site.read('/readyz')).toBe('serving\n');
  expect(status.workers?.reduce((sum, { quicConnections = 0 }) => sum + quicConnections, 0)).toBe(1);
});
