import { randomBytes } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { get, getByHttp2 } from '../../support/client.js';
import { ask, connect } from '../../support/http3_client.js';
import { startSite, type Site } from '../../support/site.js';

const large = randomBytes(2_000_000);

const site = (): Promise<Site> =>
  startSite({
    routes:
      '[{ path: /images, backends: [backend1, backend2] }, { path: /videos, backends: [backend2], delivery: proxy }, { path: /, files: main }]',
    backends: {
      backend1: '[{ path: /images, files: one }]',
      backend2: '[{ path: /images, files: one }, { path: /videos, files: two }]',
    },
    files: { 'main/index.html': 'main', 'one/a.png': large, 'two/b.mp4': 'video' },
  });

const states = ({ gateway }: Site): (string | undefined)[] =>
  gateway.status().backends?.map(({ state }) => state) ?? [];
const serving = (running: Site): Promise<void> =>
  vi.waitFor(() => expect(states(running)).toEqual(['serving', 'serving']), 30_000);

describe('a client without Multi-End', () => {
  it('gets everything from the gateway, whoever has it', async () => {
    const running = await site();
    await serving(running);
    const { port } = running.gateway.address;
    const client = await connect(port);
    for (const answer of [
      await get(port, '/images/a.png'),
      await getByHttp2(port, '/images/a.png'),
      await ask(client, { path: '/images/a.png' }),
    ]) {
      expect(answer.status).toBe(200);
      expect(answer.body.equals(large)).toBe(true);
    }
    expect((await ask(client, { path: '/videos/b.mp4' })).body.toString()).toBe('video');
    expect((await ask(client, { path: '/' })).body.toString()).toBe('main');
    expect((await ask(client, { path: '/images/none.png' })).status).toBe(404);
    expect(
      (await ask(client, { path: '/images/a.png', headers: { range: 'bytes=5-9' } })).body.equals(
        large.subarray(5, 10),
      ),
    ).toBe(true);
    const proxied = running.gateway.status().backends?.reduce((sum, backend) => sum + backend.proxied, 0);
    expect(proxied).toBe(6);
  });

  it('is known to the backend by its own address', async () => {
    const running = await site();
    await serving(running);
    await get(running.gateway.address.port, '/images/a.png', {
      headers: { 'x-forwarded-for': '6.6.6.6', host: 'example.com' },
    });
    const lines = () => running.log.filter(({ path }) => path === '/images/a.png');
    // Each node writes its line when it is done, which may be after its client is.
    await vi.waitFor(() => expect(lines()).toHaveLength(2), 30_000);
    for (const line of lines()) expect(line).toMatchObject({ remote: '127.0.0.1', host: 'example.com', status: 200 });
  });

  it('does not notice that a backend is gone', async () => {
    const running = await site();
    await serving(running);
    await running.backends['backend1']?.close(0);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => get(running.gateway.address.port, '/images/a.png')),
    );
    for (const { status, body } of answers) expect([status, body.length]).toEqual([200, large.length]);
    await vi.waitFor(() => expect(states(running)).toEqual(['lost', 'serving']), 30_000);
  });

  it('hears 502 when no backend is there', async () => {
    const running = await site();
    await serving(running);
    await running.backends['backend2']?.close(0);
    expect((await get(running.gateway.address.port, '/videos/b.mp4')).status).toBe(502);
    expect((await get(running.gateway.address.port, '/')).status).toBe(200);
  });
});

describe('a backend', () => {
  it('asks the gateway for what it does not have', async () => {
    const running = await site();
    await serving(running);
    const { port } = running.backends['backend1']!.address;
    expect((await get(port, '/images/a.png')).body.equals(large)).toBe(true);
    // Files of the gateway itself, and of another backend behind it.
    expect((await get(port, '/index.html')).body.toString()).toBe('main');
    expect((await get(port, '/videos/b.mp4')).body.toString()).toBe('video');
    expect((await get(port, '/nowhere')).status).toBe(404);
  });

  it('does not send a proxied request further: none goes in circles', async () => {
    const running = await startSite({
      routes: '[{ path: /, backends: [backend1] }]',
      backends: { backend1: '[{ path: /images, files: one }]' },
      files: { 'one/a.png': 'a' },
    });
    await vi.waitFor(() => expect(states(running)).toEqual(['serving']), 30_000);
    expect((await get(running.gateway.address.port, '/nowhere')).status).toBe(404);
    expect((await get(running.backends['backend1']!.address.port, '/nowhere')).status).toBe(404);
  });

  it('can be given rest, and used again', async () => {
    const running = await startSite({
      routes: '[{ path: /images, backends: [backend1, backend2] }]',
      backends: { backend1: '[{ path: /images, files: one }]', backend2: '[{ path: /images, files: one }]' },
      files: { 'one/a.png': 'a' },
      gateway: ['admin: 127.0.0.1:0'],
    });
    await serving(running);
    const admin = `http://127.0.0.1:${running.gateway.adminAddress?.port}`;
    const post = async (path: string, headers: Record<string, string> = { 'sheaf-admin': '1' }): Promise<number> =>
      (await fetch(admin + path, { method: 'POST', headers })).status;
    // A page in a browser cannot send the header to another origin.
    expect(await post('/backends/backend1/drain', {})).toBe(403);
    expect(await post('/backends/backend9/drain')).toBe(404);
    expect(await post('/backends/backend1/drain')).toBe(200);
    await vi.waitFor(() => expect(states(running)).toEqual(['draining', 'serving']), 30_000);
    await vi.waitFor(() => expect(running.backends['backend1']?.status().serving).toBe(false), 30_000);
    for (let index = 0; index < 3; index++)
      expect((await get(running.gateway.address.port, '/images/a.png')).status).toBe(200);
    expect(running.gateway.status().backends?.[0]?.proxied).toBe(0);
    expect(await post('/backends/backend1/resume')).toBe(200);
    await serving(running);
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    expect(metrics).toContain('sheaf_backend_serving{backend="backend1"} 1');
    expect(metrics).toContain('sheaf_backend_proxied_total{backend="backend2"} 3');
  });

  it('that is checked by a path counts as unhealthy when that fails', async () => {
    const running = await startSite({
      routes: '[{ path: /images, backends: [backend1, backend2] }]',
      backends: { backend1: '[{ path: /, files: one }]', backend2: '[{ path: /, files: two }]' },
      files: { 'one/health': 'ok', 'two/a.png': 'a' },
      backendKeys: (name) => `{ name: ${name}, health: { path: /health, interval: 100ms } }`,
    });
    await vi.waitFor(() => expect(states(running)).toEqual(['serving', 'unhealthy']), 30_000);
  });
});

describe('the route map', () => {
  it('says who answers what, and is kept until it changes', async () => {
    const running = await site();
    const { port } = running.gateway.address;
    const answer = await get(port, '/.well-known/sheaf/routes');
    const map = JSON.parse(answer.body.toString()) as { version: string };
    expect(map).toMatchObject({
      routes: [
        { path: '/images', backends: [0, 1] },
        { path: '/videos', backends: [] },
        { path: '/', backends: [] },
      ],
    });
    expect(answer.headers).toMatchObject({ etag: `"${map.version}"`, 'cache-control': 'max-age=60' });
    expect(
      (await get(port, '/.well-known/sheaf/routes', { headers: { 'if-none-match': `"${map.version}"` } })).status,
    ).toBe(304);
  });
});
