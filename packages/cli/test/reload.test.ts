import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { pageOf } from './support/page_of.js';
import { bindManagerSocket } from './support/manager_socket.js';
import { freePort, program, start, type RunningProcess } from './support/process.js';
import { sheaf, temporaryDirectory } from './support/world.js';

interface Site {
  directory: string;
  port: number;
  admin: number;
  yaml: string;
  running: RunningProcess;
}

/** `sheaf up` with a directory `old` and another one, `new`; `prepare` lays the file out. */
async function startSite(args: readonly string[] = [], prepare?: (site: Site) => Promise<void>): Promise<Site> {
  const [directory, port, admin] = [await temporaryDirectory(), await freePort(), await freePort()];
  for (const name of ['old', 'new']) {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, 'a.txt'), name);
  }
  const yaml = `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${admin}\nroutes: [{ files: ${directory}/old }]\n`;
  const site: Site = { directory, port, admin, yaml, running: undefined as never };
  if (prepare) await prepare(site);
  else await writeFile(join(directory, 'sheaf.yaml'), yaml);
  site.running = start(['up', 'sheaf.yaml', ...args], directory);
  await vi.waitFor(() => expect(site.running.out()).toContain('next:'), 30_000);
  return site;
}

const changed = ({ yaml }: Site): string => yaml.replace('/old', '/new');

const expectPage = (site: Site, text: string): Promise<void> =>
  vi.waitFor(async () => expect(await pageOf(site)).toBe(text), 20_000);

it('SIGHUP reloads, and the process says what has changed and why a file is refused', async () => {
  const site = await startSite();
  const file = join(site.directory, 'sheaf.yaml');
  await writeFile(file, changed(site));
  site.running.child.kill('SIGHUP');
  await expectPage(site, 'new');
  await vi.waitFor(() => expect(site.running.out()).toContain('gateway: routes / changed'), 20_000);
  await writeFile(file, `${changed(site)}routs: []\n`);
  site.running.child.kill('SIGHUP');
  await vi.waitFor(() => expect(site.running.err()).toContain('error[CONFIG_UNKNOWN_KEY]'), 20_000);
  expect(await pageOf(site)).toBe('new');
  site.running.child.kill('SIGTERM');
  expect(await site.running.exit).toBe(0);
});

it('`sheaf reload` says what has changed, or why not, and `sheaf status` shows it', async () => {
  const site = await startSite();
  const file = join(site.directory, 'sheaf.yaml');
  await writeFile(file, changed(site));
  const { code, out } = await sheaf(['reload'], site.directory);
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/^reloaded, version [0-9a-f]{12}\n {2}gateway: routes \/ changed\n$/),
  ]);
  expect(await pageOf(site)).toBe('new');
  expect((await sheaf(['reload'], site.directory)).out).toMatch(/: no change\n$/);
  await writeFile(file, `${changed(site)}multipath: false\n`);
  const refused = await sheaf(['reload', '--admin', `127.0.0.1:${site.admin}`], site.directory);
  expect(refused.code).toBe(5);
  expect(refused.err).toMatch(
    /^error\[RELOAD_NEEDS_RESTART\]: a reload cannot change `multipath` of `gateway`\n[^]*sheaf\.yaml:4:[^]*hint: restart/,
  );
  const json = await sheaf(['reload', '--json'], site.directory);
  expect(JSON.parse(json.out)).toMatchObject({ accepted: false, refusal: { code: 'RELOAD_NEEDS_RESTART' } });
  const status = await sheaf(['status'], site.directory);
  expect(status.out).toMatch(/configuration +[0-9a-f]{12} of .*sheaf\.yaml, since /);
  expect(status.out).toMatch(/refused +at .*: RELOAD_NEEDS_RESTART, a reload cannot change `multipath`/);
});

it('`sheaf reload` needs no files of the nodes', async () => {
  const site = await startSite();
  const elsewhere = await temporaryDirectory();
  await writeFile(join(elsewhere, 'sheaf.yaml'), `${site.yaml}tls: { cert: ./none.pem, key: ./none.key }\n`);
  const { code, out } = await sheaf(['reload'], elsewhere);
  expect([code, out]).toEqual([0, expect.stringMatching(/: no change\n$/)]);
});

it('a reload is told to the service manager, whoever asked for it', async () => {
  const socket = `@sheaf-test-${randomUUID()}`;
  const manager = await bindManagerSocket(socket);
  vi.stubEnv('NOTIFY_SOCKET', socket);
  onTestFinished(() => void vi.unstubAllEnvs());
  const site = await startSite();
  await writeFile(join(site.directory, 'sheaf.yaml'), changed(site));
  expect((await sheaf(['reload'], site.directory)).code).toBe(0);
  await expect
    .poll(() => manager.messages().filter((each) => !each.startsWith('WATCHDOG')))
    .toEqual([
      expect.stringMatching(/^READY=1\nSTATUS=serving: /),
      expect.stringMatching(/^RELOADING=1\nMONOTONIC_USEC=\d+$/),
      'READY=1',
    ]);
});

it('`sheaf reload` needs a node that answers', async () => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'sheaf.yaml'), 'listen: 127.0.0.1:0\nroutes: [{ files: . }]\n');
  expect(await sheaf(['reload'], directory)).toMatchObject({
    code: 4,
    err: expect.stringContaining('error[ADMIN_UNREACHABLE]') as string,
  });
  const nobody = `127.0.0.1:${await freePort()}`;
  expect((await sheaf(['reload', '--admin', nobody], directory)).err).toContain('error[ADMIN_UNREACHABLE]');
});

it('`--watch` follows a file that an editor renames over the old one, and forgives a fault', async () => {
  const site = await startSite(['--watch']);
  const file = join(site.directory, 'sheaf.yaml');
  await writeFile(file, 'routes: [');
  await vi.waitFor(() => expect(site.running.err()).toContain('error[CONFIG_SYNTAX]'), 20_000);
  expect(await pageOf(site)).toBe('old');
  await writeFile(`${file}.new`, changed(site));
  await rename(`${file}.new`, file);
  await expectPage(site, 'new');
});

it('`--watch` follows the links of a volume of Kubernetes', async () => {
  const site = await startSite(['--watch'], async ({ directory, yaml }) => {
    await mkdir(join(directory, '..one'));
    await writeFile(join(directory, '..one', 'sheaf.yaml'), yaml);
    await symlink('..one', join(directory, '..data'));
    await symlink('..data/sheaf.yaml', join(directory, 'sheaf.yaml'));
  });
  const { directory } = site;
  await mkdir(join(directory, '..two'));
  await writeFile(join(directory, '..two', 'sheaf.yaml'), changed(site));
  await symlink('..two', join(directory, '..data_tmp'));
  await rename(join(directory, '..data_tmp'), join(directory, '..data'));
  await expectPage(site, 'new');
  expect(await readFile(join(directory, 'sheaf.yaml'), 'utf8')).toBe(changed(site));
});

it('a node whose terminal is closed ends, as it did not begin to serve without one', async () => {
  const site = await startSite();
  const port = await freePort();
  await writeFile(join(site.directory, 'own.yaml'), `listen: 127.0.0.1:${port}\nroutes: [{ files: ./old }]\n`);
  // `script` gives its command a terminal, which goes away with it.
  const terminal = spawn('script', ['-qefc', `${process.execPath} ${program} up own.yaml`, '/dev/null'], {
    cwd: site.directory,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(() => void terminal.kill('SIGKILL'));
  const own = { ...site, port };
  await expectPage(own, 'old');
  terminal.kill('SIGKILL');
  await vi.waitFor(() => expect(pageOf(own)).rejects.toMatchObject({ code: 'ECONNREFUSED' }), 20_000);
  expect(await pageOf(site)).toBe('old');
});
