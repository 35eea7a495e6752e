import { once } from 'node:events';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { expect, it, vi } from 'vitest';
import { freePort } from '../../src/values/free_port.js';
import { ask } from '../support/http3_client.js';
import { startUpgrading, type Upgrading } from '../support/upgrading.js';

const path = '/a.txt';
const yamlOf = (name: string): string => `workers: 2\nroutes: [{ files: ./${name} }]\n`;
const files = { 'zero/a.txt': 'zero', 'one/a.txt': 'one', 'two/a.txt': 'two' };

const bodyOf = async (client: Http3Client): Promise<string> => (await ask(client, { path })).body.toString();

/** Connections for all workers */
const open = ({ port }: Upgrading): Promise<Http3Client[]> =>
  Promise.all(
    Array.from({ length: 12 }, () => connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true })),
  );

const closeAll = (clients: readonly Http3Client[]): Promise<unknown> =>
  Promise.all(clients.map((each) => each.close()));

it('each connection stays with the process that took it, which ends with the last of them', async () => {
  const site = await startUpgrading({ yaml: yamlOf('zero'), files });
  const all: Record<string, Http3Client[]> = { zero: await open(site) };
  for (const name of ['one', 'two']) {
    await site.write(yamlOf(name));
    expect(await site.upgrade()).toMatchObject({ accepted: true });
    all[name] = await open(site);
  }
  for (const [name, clients] of Object.entries(all))
    expect(await Promise.all(clients.map(bodyOf))).toEqual(clients.map(() => name));
  expect((await site.status()).upgrade).toEqual({ generation: 2, predecessors: 2 });
  // The one in the middle may end first.
  await closeAll(all['one']!);
  await vi.waitFor(async () => expect((await site.status()).upgrade?.predecessors).toBe(1), 30_000);
  expect(await Promise.all(all['zero']!.map(bodyOf))).toEqual(all['zero']!.map(() => 'zero'));
  await closeAll(all['zero']!);
  expect(await site.exit).toBe(0);
  await vi.waitFor(async () => expect((await site.status()).upgrade?.predecessors).toBe(0), 30_000);
  expect(await Promise.all(all['two']!.map(bodyOf))).toEqual(all['two']!.map(() => 'two'));
  await closeAll(all['two']!);
}, 120_000);

it('clients resume at the process that took over, by the secrets that no file has', async () => {
  const site = await startUpgrading({ yaml: `${yamlOf('zero')}http: 127.0.0.1:0\n`, files });
  const { port } = site;
  const client = await connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true });
  const [session] = (await Promise.all([once(client, 'session'), bodyOf(client)]))[0] as [Buffer];
  expect(await site.upgrade()).toMatchObject({ accepted: true });
  const later = await connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true, session });
  expect(later.status().resumed).toBe(true);
  expect(await bodyOf(later)).toBe('zero');
  await closeAll([client, later]);
}, 60_000);

it('listeners come and go with the configuration of the process that takes over', async () => {
  const plain = await freePort();
  const site = await startUpgrading({ yaml: yamlOf('zero'), files });
  const page = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${plain}${path}`, { headers: { connection: 'close' } })).text();
  await expect(page()).rejects.toThrow();
  await site.write(`${yamlOf('one')}http: 127.0.0.1:${plain}\n`);
  expect(await site.upgrade()).toMatchObject({ accepted: true });
  expect(await page()).toBe('one');
  await site.write(yamlOf('two'));
  expect(await site.upgrade()).toMatchObject({ accepted: true });
  await vi.waitFor(() => expect(page()).rejects.toThrow(), 20_000);
}, 60_000);
