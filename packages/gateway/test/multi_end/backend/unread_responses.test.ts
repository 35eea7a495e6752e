import { connect as connectHttp2 } from 'node:http2';
import { setTimeout } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { get } from '../../support/client.js';
import { connect } from '../../support/http3_client.js';
import { startSite } from '../../support/site.js';

it('clients that do not read take neither the backend nor the responses of others away', async () => {
  const running = await startSite({
    routes: '[{ path: /, backends: [backend1, backend2] }]',
    backends: { backend1: '[{ path: /, files: files }]', backend2: '[{ path: /, files: files }]' },
    files: { 'files/large.bin': Buffer.alloc(4_000_000), 'files/small.txt': 'small' },
    // However slow the machine is, no backend counts as lost, which would move requests.
    backendKeys: (name) => `{ name: ${name}, health: { interval: 100ms, timeout: 60s } }`,
  });
  const backends = () => running.gateway.status().backends ?? [];
  await vi.waitFor(() => expect(backends().map(({ state }) => state)).toEqual(['serving', 'serving']), 30_000);
  const { port } = running.gateway.address;
  // More than the window that a connection begins with, and the widest that it grows to by itself, at both ends.
  const requests = Array.from({ length: 2 }, () => {
    const client = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    onTestFinished(() => client.destroy());
    return Array.from({ length: 50 }, () =>
      client
        .request({ ':path': '/large.bin' })
        .pause()
        .on('error', () => undefined),
    );
  });
  await vi.waitFor(() => expect(backends().reduce((sum, { proxied }) => sum + proxied, 0)).toBe(100), 30_000);
  expect(requests.flat()).toHaveLength(100);
  const [one, two] = backends().map(({ proxied }) => proxied);
  expect(Math.abs(one! - two!)).toBeLessThanOrEqual(2);
  await setTimeout(3_000);
  for (let index = 0; index < 10; index++) expect((await get(port, '/small.txt')).body.toString()).toBe('small');
  // The gateway hears what the backends say: that they have taken a connection over.
  const client = await connect(port, { multiEnd: true });
  for (const backend of [0, 1])
    await vi.waitFor(
      () => expect(client.status().backends.map(({ backend: known }) => known)).toContain(backend),
      60_000,
    );
});
