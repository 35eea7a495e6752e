import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import { freePort } from '../../../src/client.js';
import { collect, get } from '../../support/client.js';
import { ask, connect } from '../../support/http3_client.js';
import { startReloading } from '../../support/reloading.js';

const files = { 'site/a.txt': 'hello', 'site/large.bin': Buffer.alloc(8 * 2 ** 20, 'x') };
const yamlOf = (listen: number, more = ''): string =>
  `listen: 127.0.0.1:${listen}\nroutes: [{ files: ./site }]\nlimits: { drain: 20s }\n${more}`;

async function plain(port: number, path: string, options: { method?: string; headers?: Record<string, string> } = {}) {
  const sent = httpRequest({ host: '127.0.0.1', port, path, agent: false, ...options });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, text: (await collect(response)).toString() };
}

const refused = { code: 'ECONNREFUSED' };

it('a listener without TLS is added, moved and removed', async () => {
  const [listen, first, second] = [await freePort(), await freePort(), await freePort()];
  const site = await startReloading({ yaml: yamlOf(listen), files });
  await expect(plain(first, '/a.txt')).rejects.toMatchObject(refused);
  const added = await site.change(yamlOf(listen, `http: 127.0.0.1:${first}\n`));
  expect(added).toMatchObject({ accepted: true, changes: [{ option: 'http', change: 'added' }] });
  expect((await plain(first, '/a.txt')).text).toBe('hello');
  await site.change(yamlOf(listen, `http: 127.0.0.1:${second}\n`));
  expect((await plain(second, '/a.txt')).text).toBe('hello');
  await expect(plain(first, '/a.txt')).rejects.toMatchObject(refused);
  const removed = await site.change(yamlOf(listen));
  expect(removed).toMatchObject({ changes: [{ option: 'http', change: 'removed' }] });
  await expect(plain(second, '/a.txt')).rejects.toMatchObject(refused);
});

it('a listener that moves serves at its new address, and finishes at the old one what has begun', async () => {
  const [from, to] = [await freePort(), await freePort()];
  const site = await startReloading({ yaml: yamlOf(from), files });
  const client = await connect(from);
  const download = await client.request({ path: '/large.bin' });
  expect(await site.change(yamlOf(to))).toMatchObject({
    accepted: true,
    changes: [{ option: 'listen', change: 'changed' }],
  });
  expect(site.gateway.address.port).toBe(to);
  expect((await ask(await connect(to), { path: '/a.txt' })).body.toString()).toBe('hello');
  expect((await get(to, '/a.txt')).body.toString()).toBe('hello');
  await expect(get(from, '/a.txt')).rejects.toMatchObject(refused);
  expect(await collect(download)).toHaveLength(files['site/large.bin'].length);
  await vi.waitFor(() => expect(site.status().connections).toHaveLength(1), 20_000);
  // The address is free again, so that the listener may come back.
  expect(await site.change(yamlOf(from))).toMatchObject({ accepted: true });
  expect((await ask(await connect(from), { path: '/a.txt' })).body.toString()).toBe('hello');
});

it('the address for operators moves while it answers the request for that', async () => {
  const [listen, first, second] = [await freePort(), await freePort(), await freePort()];
  const site = await startReloading({ yaml: yamlOf(listen, `admin: 127.0.0.1:${first}\n`), files });
  await writeFile(site.file, yamlOf(listen, `admin: 127.0.0.1:${second}\n`));
  const answer = await plain(first, '/reload', { method: 'POST', headers: { 'sheaf-admin': '1' } });
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toMatchObject({ accepted: true, changes: [{ option: 'admin', change: 'changed' }] });
  await expect(plain(first, '/status')).rejects.toMatchObject(refused);
  expect(JSON.parse((await plain(second, '/status')).text)).toMatchObject({ configuration: { source: site.file } });
});

it('a process that ends does not wait for a listener that drains', async () => {
  const [from, to] = [await freePort(), await freePort()];
  const site = await startReloading({ yaml: yamlOf(from), files });
  const client = await connect(from);
  const download = await client.request({ path: '/large.bin' });
  download.on('error', () => undefined);
  await site.change(yamlOf(to));
  await site.running.close(0);
  expect(site.status().state).toBe('stopped');
});
