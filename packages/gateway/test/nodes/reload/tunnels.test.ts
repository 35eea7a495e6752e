import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startReloading } from '../../support/reloading.js';
import { startTarget } from '../../support/tcp_target.js';
import { ask, versions } from '../../support/tcp_tunnels.js';

const yamlOf = (route: string): string => `listen: 127.0.0.1:0\nroutes: [{ path: /files, files: . }${route}]\n`;
const clients = 'allow: 127.0.0.1, clients: 127.0.0.0/8';
const credentials = (password: string) => ({
  'proxy-authorization': `Basic ${Buffer.from(`anna:${password}`).toString('base64')}`,
});

it.each(versions)(
  'HTTP/%s: a reload adds the first route for tunnels, and takes the last one away',
  async (version) => {
    const target = await startTarget();
    const site = await startReloading({ yaml: yamlOf('') });
    const open = async (path?: string): Promise<number> =>
      (await ask(version, site.port, path === undefined ? { authority: `127.0.0.1:${target.port}` } : { path })).status;
    const template = `/tcp/127.0.0.1/${target.port}/`;
    expect(await open()).toBe(501);
    await site.change(
      yamlOf(`, { connect: { ${clients} } }, { path: /tcp, host: [proxy.example], connect_tcp: { ${clients} } }`),
    );
    expect(await open()).toBe(200);
    expect(await open(template)).toBe(version === '1.1' ? 101 : 200);
    expect(site.status().tcpTunnels).toMatchObject({ open: 2, answers: { 200: 2 } });
    await site.change(yamlOf(''));
    expect(await open()).toBe(501);
    expect(site.status().tcpTunnels).toBeUndefined();
  },
);

it('users of tunnels are read again, and their places count while nothing else changes', async () => {
  const target = await startTarget();
  const yaml = yamlOf(`, { connect: { allow: 127.0.0.1, users: users.txt, tunnels_per_user: 1 } }`);
  const site = await startReloading({ yaml: yamlOf(''), files: { 'users.txt': 'anna:first\n' } });
  const users = join(site.directory, 'users.txt');
  await chmod(users, 0o600);
  expect(await site.change(yaml)).toMatchObject({ accepted: true });
  const open = async (password: string): Promise<number> =>
    (await ask('2', site.port, { authority: `127.0.0.1:${target.port}`, fields: credentials(password) })).status;
  const first = await ask('2', site.port, {
    authority: `127.0.0.1:${target.port}`,
    fields: credentials('first'),
  });
  expect(first.status).toBe(200);
  const socket = await target.accept();
  await site.running.reload();
  expect(await open('first')).toBe(429);
  await writeFile(users, 'anna:second\n');
  expect(await site.running.reload()).toMatchObject({ accepted: true, changes: [] });
  expect(await open('first')).toBe(407);
  expect(await open('second')).toBe(200);
  await writeFile(users, 'anna\n');
  expect(await site.running.reload()).toMatchObject({ accepted: false, refusal: { code: 'CREDENTIALS_UNUSABLE' } });
  first.outgoing.write('still open');
  expect(String(((await once(socket, 'data')) as [Buffer])[0])).toBe('still open');
});
