import { expect, it } from 'vitest';
import { get } from '../support/client.js';
import { ask, connect } from '../support/http3_client.js';
import { startTarget } from '../support/tcp_target.js';
import { startUpgrading, type Upgrading, type UpgradingSite } from '../support/upgrading.js';

const site: UpgradingSite = { yaml: 'workers: 1\nroutes: [{ files: ./site }]\n', files: { 'site/a.txt': 'hello' } };
const path = '/a.txt';

/** Tries an upgrade that fails, while a client asks over connections of before and new ones. Returns why it failed. */
async function expectRefusal(running: Upgrading): Promise<{ code: string; message: string }> {
  const { port } = running;
  const client = await connect(port);
  const { pid } = await running.status();
  let over = false;
  const asking = (async () => {
    while (!over) {
      expect((await ask(client, { path })).body.toString()).toBe('hello');
      expect((await get(port, path)).body.toString()).toBe('hello');
    }
  })();
  const outcome = await running.upgrade();
  over = true;
  await asking;
  if (outcome.accepted) throw new Error('the upgrade succeeded');
  const after = await running.status();
  const { refusal } = outcome;
  expect(after).toMatchObject({ pid, state: 'serving', upgrade: { generation: 0, predecessors: 0, refused: refusal } });
  expect((await ask(await connect(port), { path })).body.toString()).toBe('hello');
  return refusal;
}

it('a configuration that is wrong changes nothing, and a right one is taken then', async () => {
  const running = await startUpgrading(site);
  await running.write(`${site.yaml}routs: []\n`);
  const refusal = await expectRefusal(running);
  expect(refusal).toMatchObject({ code: 'CONFIG_UNKNOWN_KEY' });
  await running.write(site.yaml.replace('workers: 1', 'workers: 2'));
  expect(await expectRefusal(running)).toMatchObject({
    code: 'UPGRADE_REFUSED',
    message: 'an upgrade cannot change `workers` of `gateway`',
  });
  const foreign = await startTarget();
  await running.write(`${site.yaml}http: 127.0.0.1:${foreign.port}\n`);
  expect(await expectRefusal(running)).toMatchObject({ code: 'PORT_TAKEN' });
  await running.write(site.yaml);
  expect(await running.upgrade()).toMatchObject({ accepted: true });
  expect((await running.status()).upgrade).toEqual({ generation: 1, predecessors: expect.any(Number) as number });
}, 60_000);

it('a process that crashes as it starts takes nothing over', async () => {
  const running = await startUpgrading({ ...site, successor: 'process.abort();' });
  expect(await expectRefusal(running)).toMatchObject({
    code: 'UPGRADE_REFUSED',
    message: 'the new process has ended (SIGABRT)',
  });
});

it('a process that hangs is ended in time', async () => {
  const running = await startUpgrading({
    ...site,
    successor: 'setInterval(() => undefined, 1_000);',
    timeoutMs: 1_000,
  });
  expect(await expectRefusal(running)).toMatchObject({
    code: 'UPGRADE_REFUSED',
    message: 'the new process is not ready after 1 s',
  });
});

it('a process that says something else is ended', async () => {
  const successor = `import { writeSync } from 'node:fs';
writeSync(3, '{"type":"ready","pid":"none"}\\n');
setInterval(() => undefined, 1_000);`;
  const running = await startUpgrading({ ...site, successor });
  expect((await expectRefusal(running)).message).toBe(
    'the new process is not understood: it does not understand the messages of this version',
  );
});

it('a node that the main thread serves says what to add', async () => {
  const running = await startUpgrading({ ...site, yaml: 'routes: [{ files: ./site }]\n' });
  expect((await expectRefusal(running)).message).toMatch(/^`gateway` is served by the main thread/);
});
