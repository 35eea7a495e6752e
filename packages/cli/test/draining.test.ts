import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished, vi } from 'vitest';
import { bindManagerSocket } from './support/manager_socket.js';
import { freePort, start } from './support/process.js';
import { sheaf, temporaryDirectory } from './support/world.js';

/** An upstream whose responses end when the test says so. */
async function heldUpstream(): Promise<{ origin: string; waiting: ServerResponse[] }> {
  const waiting: ServerResponse[] = [];
  const server = createServer((_request, response) => void waiting.push(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, waiting };
}

it('a node that drains is ready until it has ended, takes no new connections, and tells its manager each step', async () => {
  const { origin, waiting } = await heldUpstream();
  const [directory, port, adminPort] = [await temporaryDirectory(), await freePort(), await freePort()];
  const admin = `127.0.0.1:${adminPort}`;
  const configuration = [
    `listen: 127.0.0.1:${port}`,
    `admin: ${admin}`,
    'limits: { drain: 2m }',
    `routes: [{ upstream: "${origin}" }]`,
  ];
  await writeFile(join(directory, 'sheaf.yaml'), configuration.join('\n'));
  const socket = `@sheaf-test-${randomUUID()}`;
  const manager = await bindManagerSocket(socket);
  vi.stubEnv('NOTIFY_SOCKET', socket);
  onTestFinished(() => void vi.unstubAllEnvs());
  const running = start(['up'], directory);
  await expect.poll(() => manager.messages()).toEqual(['READY=1\nSTATUS=serving: gateway (gateway)']);
  const answer = async (path: string): Promise<[number, string]> => {
    const response = await fetch(`http://${admin}${path}`);
    return [response.status, await response.text()];
  };
  for (const path of ['/readyz', '/acceptz']) expect(await answer(path)).toEqual([200, 'serving\n']);
  expect(await sheaf(['healthcheck'], directory)).toEqual({ code: 0, out: `${admin}: serving\n`, err: '' });

  const url = `https://127.0.0.1:${port}/`;
  const inFlight = start(['fetch', '--insecure', url], directory);
  await expect.poll(() => waiting.length).toBe(1);
  running.child.kill('SIGTERM');
  await expect.poll(() => answer('/acceptz')).toEqual([503, 'draining\n']);
  expect(await answer('/readyz')).toEqual([200, 'draining\n']);
  expect(await answer('/healthz')).toEqual([200, 'ok\n']);
  expect(await sheaf(['healthcheck', '--admin', admin])).toMatchObject({ code: 0, out: `${admin}: draining\n` });
  const refused = await sheaf(['fetch', '--insecure', '--timeout', '20', url]);
  expect(refused).toMatchObject({ code: 4 });

  waiting[0]?.end('late');
  expect(await inFlight.exit).toBe(0);
  expect(inFlight.out()).toBe('late');
  expect(await running.exit).toBe(0);
  expect(manager.messages().slice(1)).toEqual(['STOPPING=1\nSTATUS=draining: gateway (gateway)']);
  expect(await sheaf(['healthcheck', '--admin', admin])).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('ADMIN_UNREACHABLE'),
  });
});

it('a health check without an address to ask is a mistake of its user', async () => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'sheaf.yaml'), 'listen: 127.0.0.1:0\nroutes: [{ files: . }]\n');
  expect(await sheaf(['healthcheck'], directory)).toMatchObject({ code: 4, err: expect.stringContaining('admin') });
  expect((await sheaf(['healthcheck', '--node', 'other'], directory)).err).toContain('NODE_UNKNOWN');
});

const twoNodes = (ports: readonly number[]): string => `nodes:
  here:
    role: gateway
    listen: 127.0.0.1:${ports[0]}
    routes: [{ path: /, files: . }]
  elsewhere:
    role: gateway
    listen: 127.0.0.1:${ports[1]}
    tls: { cert: /nonexistent/elsewhere.pem, key: /nonexistent/elsewhere.key }
    secrets: /nonexistent/secrets
    admin: 127.0.0.1:${ports[2]}
    routes: [{ path: /, files: /nonexistent/site }]
`;

it('one of several nodes runs without the files of the others', async () => {
  const [directory, ...ports] = [await temporaryDirectory(), await freePort(), await freePort(), await freePort()];
  await writeFile(join(directory, 'sheaf.yaml'), twoNodes(ports));
  const running = start(['up', '--node', 'here'], directory);
  await expect.poll(() => running.out() + running.err(), { timeout: 30_000 }).toContain('ready');
  running.child.kill('SIGTERM');
  expect(await running.exit).toBe(0);
  for (const args of [['up'], ['up', '--node', 'elsewhere'], ['check']]) {
    const { code, err } = await sheaf(args, directory);
    expect([code, err]).toEqual([2, expect.stringContaining('/nonexistent/elsewhere.pem')]);
  }
  // What asks a node at its address reads none of its files.
  expect((await sheaf(['status', '--node', 'elsewhere'], directory)).err).toContain('ADMIN_UNREACHABLE');
});
