import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, it, onTestFinished, vi } from 'vitest';
import { pageOf } from './support/page_of.js';
import { bindManagerSocket } from './support/manager_socket.js';
import { freePort, start, type RunningProcess } from './support/process.js';
import { sheaf, temporaryDirectory } from './support/world.js';

interface Site {
  directory: string;
  port: number;
  admin: number;
  yaml: string;
  running: RunningProcess;
}

/** `sheaf up`, and what takes over from it */
async function startSite(yaml = 'workers: 1\n'): Promise<Site> {
  const [directory, port, admin] = [await temporaryDirectory(), await freePort(), await freePort()];
  await writeFile(join(directory, 'a.txt'), 'hello');
  const text = `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${admin}\nroutes: [{ files: . }]\n${yaml}`;
  await writeFile(join(directory, 'sheaf.yaml'), text);
  const running = start(['up'], directory);
  await vi.waitFor(() => expect(running.out()).toContain('next:'), 30_000);
  return { directory, port, admin, yaml: text, running };
}

/** The process that serves now; it ends with the test. */
async function servingPid({ admin }: Site): Promise<number> {
  const { pid } = (await (await fetch(`http://127.0.0.1:${admin}/status`)).json()) as { pid: number };
  onTestFinished(() => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  });
  return pid;
}

const exitOf = ({ running: { child } }: Site): Promise<number | null> =>
  child.exitCode === null ? new Promise((resolve) => child.once('exit', resolve)) : Promise.resolve(child.exitCode);

it('`sheaf upgrade` says which process serves, and the one before ends with 0', async () => {
  const site = await startSite();
  const before = site.running.child.pid!;
  const { code, out } = await sheaf(['upgrade'], site.directory);
  const pid = await servingPid(site);
  expect([code, out]).toEqual([
    0,
    `upgraded, version 0.1.0: process ${pid} serves\n  process ${before} keeps its connections until they end\n`,
  ]);
  expect(pid).not.toBe(before);
  expect(await pageOf(site)).toBe('hello');
  expect(await exitOf(site)).toBe(0);
  const again = await sheaf(['upgrade', '--json', '--admin', `127.0.0.1:${site.admin}`], site.directory);
  expect(JSON.parse(again.out)).toMatchObject({ accepted: true, before: { pid } });
  await servingPid(site);
});

it('the service manager supervises the new process, and does not hear that the service stops', async () => {
  const socket = `@sheaf-test-${randomUUID()}`;
  const manager = await bindManagerSocket(socket);
  vi.stubEnv('NOTIFY_SOCKET', socket);
  onTestFinished(() => void vi.unstubAllEnvs());
  const site = await startSite();
  expect((await sheaf(['upgrade'], site.directory)).code).toBe(0);
  const pid = await servingPid(site);
  expect(await exitOf(site)).toBe(0);
  const status = 'READY=1\nSTATUS=serving: gateway (gateway)';
  expect(manager.messages()).toEqual([status, `${status}\nMAINPID=${pid}`]);
});

it('SIGUSR2 upgrades, and the terminal shows it', async () => {
  const site = await startSite();
  site.running.child.kill('SIGUSR2');
  await vi.waitFor(
    () => expect(site.running.out()).toMatch(/^upgraded, version 0\.1\.0: process \d+ serves$/m),
    30_000,
  );
  await servingPid(site);
  await vi.waitFor(() => expect(site.running.out().match(/ ready in /g)).toHaveLength(2), 20_000);
  expect(await exitOf(site)).toBe(0);
  expect(await pageOf(site)).toBe('hello');
});

it('a file with a fault changes nothing, and `sheaf upgrade` and `sheaf status` say why', async () => {
  const site = await startSite();
  await writeFile(join(site.directory, 'sheaf.yaml'), `${site.yaml}routs: []\n`);
  const admin = `127.0.0.1:${site.admin}`;
  const { code, err } = await sheaf(['upgrade', '--admin', admin], site.directory);
  expect(code).toBe(5);
  expect(err).toMatch(/^error\[CONFIG_UNKNOWN_KEY\][^]*\nthe process that runs goes on\n$/);
  await writeFile(join(site.directory, 'sheaf.yaml'), site.yaml);
  const status = await sheaf(['status'], site.directory);
  expect(status.out).toMatch(/upgrade +failed at .*: CONFIG_UNKNOWN_KEY, /);
  expect(await pageOf(site)).toBe('hello');
});

it('a node without workers says what to add', async () => {
  const site = await startSite('');
  const { code, err } = await sheaf(['upgrade'], site.directory);
  expect(code).toBe(5);
  expect(err).toContain('hint: add `workers: 1` (or more) to the node, and restart it once');
});

it('SIGTERM ends the new process and the one before', async () => {
  const site = await startSite();
  const socket = connect({ host: '127.0.0.1', port: site.port, rejectUnauthorized: false });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  expect((await sheaf(['upgrade'], site.directory)).code).toBe(0);
  process.kill(await servingPid(site), 'SIGTERM');
  // Both have closed their output then.
  expect(await site.running.exit).toBe(0);
});
