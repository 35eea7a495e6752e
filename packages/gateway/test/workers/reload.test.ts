import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../src/client.js';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { workerTimes } from '../../src/workers/worker_times.js';
import { collect, get } from '../support/client.js';
import { ask, connect } from '../support/http3_client.js';
import { crash, startWorkers, threadOf, type RunningWorkers } from '../support/workers.js';

const large = Buffer.alloc(4 * 2 ** 20, 'x');
const files = { 'old/a.txt': 'old', 'new/a.txt': 'new', 'old/large.bin': large, 'new/large.bin': large };
const yamlOf = (root: string, more = '', listen = '127.0.0.1:0'): string =>
  `listen: ${listen}\nadmin: 127.0.0.1:0\nworkers: 4\nroutes: [{ files: ./${root} }]\nlimits: { drain: 20s }\n${more}`;

/** Asks each worker by new connections, and returns what they say. */
async function answers(site: RunningWorkers): Promise<Set<string>> {
  const texts = await Promise.all(
    Array.from({ length: 24 }, async () => (await get(site.port, '/a.txt')).body.toString()),
  );
  return new Set(texts);
}

it('what one worker refuses, none takes, and the status says why', async () => {
  const picky = `import { workerData } from 'node:worker_threads';
if (workerData.index === 2) throw new Error('this worker does not like it');
export default () => undefined;
`;
  const site = await startWorkers(yamlOf('old'), { ...files, 'chat.mjs': picky });
  const outcome = await site.change(yamlOf('new').replace('[{', '[{ path: /chat, webtransport: ./chat.mjs }, {'));
  expect(outcome).toMatchObject({
    accepted: false,
    refusal: { message: expect.stringContaining('this worker does not like it') as string },
  });
  expect(await answers(site)).toEqual(new Set(['old']));
  expect((await site.status()).configuration?.refused).toBeDefined();
  expect(await site.change(yamlOf('old').replace('workers: 4', 'workers: 2'))).toMatchObject({
    accepted: false,
    refusal: { code: 'RELOAD_NEEDS_RESTART', message: expect.stringContaining('`workers`') as string },
  });
  expect(await site.change(yamlOf('new'))).toMatchObject({ accepted: true });
  expect((await site.status()).configuration).not.toHaveProperty('refused');
});

it('an application that never loads in a worker holds up no later reload', async () => {
  const { change } = workerTimes;
  const restore = (): void => void (workerTimes.change = change);
  onTestFinished(restore);
  const never = 'await new Promise(() => undefined);\nexport default () => undefined;\n';
  const site = await startWorkers(yamlOf('old'), { ...files, 'chat.mjs': never });
  workerTimes.change = 2_000;
  const outcome = await site.change(yamlOf('new').replace('[{', '[{ path: /chat, webtransport: ./chat.mjs }, {'));
  expect(outcome).toMatchObject({ accepted: false, refusal: { code: 'RELOAD_REFUSED' } });
  expect(await answers(site)).toEqual(new Set(['old']));
  restore();
  expect(await site.change(yamlOf('new'))).toMatchObject({ accepted: true });
  expect(await answers(site)).toEqual(new Set(['new']));
});

it('a worker that ends during a reload makes it fail, and its successor runs as the others', async () => {
  const site = await startWorkers(yamlOf('old'), files);
  const ended = threadOf(site.node, 2).terminate();
  const outcome = await site.change(yamlOf('new'));
  await ended;
  await vi.waitFor(() => expect(site.node.pool.serving).toHaveLength(4), 30_000);
  expect(await answers(site)).toEqual(new Set([outcome.accepted ? 'new' : 'old']));
});

it('a replaced worker runs the configuration in force, whatever the file says', async () => {
  const site = await startWorkers(yamlOf('old'), files);
  expect(await site.change(yamlOf('new'))).toMatchObject({ accepted: true });
  await writeFile(join(site.directory, 'sheaf.yaml'), 'nonsense');
  for (const worker of [0, 1, 2, 3]) await crash(site.node, worker);
  expect(await answers(site)).toEqual(new Set(['new']));
});

it('listeners move, and connections at the old address finish', async () => {
  const [first, second] = [await freePort(), await freePort()];
  const site = await startWorkers(yamlOf('old', '', `127.0.0.1:${first}`), files);
  const client = await connect(first);
  const download = await client.request({ path: '/large.bin' });
  expect(await site.change(yamlOf('old', '', `127.0.0.1:${second}`))).toMatchObject({ accepted: true });
  for (let turn = 0; turn < 8; turn++) expect((await get(second, '/a.txt')).status).toBe(200);
  expect((await ask(await connect(second), { path: '/a.txt' })).status).toBe(200);
  await expect(get(first, '/a.txt')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect((await collect(download)).equals(large)).toBe(true);
});

it('a certificate that is renewed, or another one by a reload, is that of all workers', async () => {
  const write = async (name: string): Promise<void> => {
    const { certificate, privateKey } = await createDevCertificate(['localhost'], new Date());
    await writeFile(join(site.directory, `${name}.pem`), certificate);
    await writeFile(join(site.directory, `${name}.key`), privateKey, { mode: 0o600 });
  };
  const tls = (name: string): string => `tls: { cert: ./${name}.pem, key: ./${name}.key }\n`;
  const site = await startWorkers(yamlOf('old'), files);
  const hashes = async (): Promise<Set<string>> => {
    await site.node.refresh();
    return new Set(site.node.pool.reports.map(({ status }) => status.certificate.sha256));
  };
  const before = site.node.certificate.hash;
  await write('first');
  expect(await site.change(yamlOf('old', tls('first')))).toMatchObject({ accepted: true });
  const first = site.node.certificate.hash;
  expect(first).not.toBe(before);
  expect(await hashes()).toEqual(new Set([first]));
  await write('first');
  await vi.waitFor(async () => {
    expect(site.node.certificate.hash).not.toBe(first);
    expect(await hashes()).toEqual(new Set([site.node.certificate.hash]));
  }, 30_000);
  await crash(site.node, 1);
  expect(await hashes()).toEqual(new Set([site.node.certificate.hash]));
});
