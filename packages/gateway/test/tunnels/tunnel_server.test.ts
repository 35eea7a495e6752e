import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TunnelOptions, TunnelOver } from '@sheaf/native';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { routeOptions } from '../../src/schema/routes.js';
import { accessParts } from '../../src/tunnels/access.js';
import { ResolutionError, type Resolve } from '../../src/tunnels/target_addresses.js';
import type { TunnelRequest } from '../../src/tunnels/tunnel_request.js';
import { TunnelServer } from '../../src/tunnels/tunnel_server.js';

/** A request that keeps what it was answered */
class Request extends EventEmitter implements TunnelRequest {
  httpVersion = '3' as const;
  asked = '/';
  authority = 'proxy.example';
  headers = {};
  address = '192.0.2.7';
  remoteAddress = '192.0.2.7:5';
  early = false;
  status = 0;
  fields: Readonly<Record<string, string>> = {};
  abandoned = false;

  constructor(
    readonly url: string,
    readonly open: TunnelRequest['open'],
    more: Partial<TunnelRequest>,
  ) {
    super();
    Object.assign(this, more);
  }
  refuse(status: number, fields: Readonly<Record<string, string>>): void {
    [this.status, this.fields] = [status, fields];
    this.emit('close');
  }
  abandon(): void {
    this.abandoned = true;
    this.emit('close');
  }
  whenClosed(listener: () => void): void {
    this.once('close', listener);
  }
}

interface Setup {
  route?: Record<string, unknown>;
  names?: Record<string, string[] | Error>;
  /** Addresses for which the request's `open` throws */
  unroutable?: string[];
  code?: string;
  clientHasLeft?: boolean;
  isDraining?: () => boolean;
}

/** What became of a tunnel */
const idle: TunnelOver = {
  reason: 'idle',
  code: 0x100,
  packetsToTarget: 2,
  bytesToTarget: 2_400,
  packetsToClient: 1,
  bytesToClient: 1_200,
  packetsRepeated: 0,
  packetsMarked: 0,
  drops: {
    unknownContext: 0,
    targetTooLarge: 0,
    targetBlocked: 0,
    targetRefused: 0,
    clientTooLarge: 3,
    queueFull: 0,
    queueStanding: 0,
    clientLost: 0,
    overRate: 0,
    fragment: 0,
    badHeader: 0,
    noTunnel: 0,
  },
};

async function setUp({
  route = {},
  names = {},
  unroutable = [],
  code = 'ENETUNREACH',
  clientHasLeft = false,
  isDraining = () => false,
}: Setup = {}) {
  const opened: TunnelOptions[] = [];
  const resolved: string[] = [];
  const lines: Record<string, unknown>[] = [];
  const resolve: Resolve = (host) => {
    resolved.push(host);
    const found = names[host];
    if (Array.isArray(found)) return Promise.resolve(found);
    return Promise.reject(found ?? new ResolutionError(502, 'error=dns_error; rcode="NXDOMAIN"'));
  };
  const open: TunnelRequest['open'] = (options) => {
    if (unroutable.includes(options.target.address)) throw Object.assign(new Error('no route'), { code });
    if (clientHasLeft) return undefined;
    opened.push(options);
    return { localAddress: { address: '192.0.2.1', port: 1, family: 'IPv4' } };
  };
  const server = await TunnelServer.open({
    routes: [
      routeOptions.parse({
        path: '/masque/',
        connect_udp: { allow: ['*:443', '10.0.0.0/8:53'], clients: '192.0.2.0/24', ...route },
      }),
    ],
    reports: true,
    log: pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) }),
    parts: accessParts(resolve, { own: () => new Set(['203.0.114.9']), isDraining }),
  });
  const ask = async (path: string, more: Partial<TunnelRequest> = {}): Promise<Request> => {
    const request = new Request(path, open, more);
    await server.answer(request);
    return request;
  };
  return { server, ask, opened, resolved, lines };
}

function usersFile(text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-tunnels-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'users'), text, { mode: 0o600 });
  return join(directory, 'users');
}

it('opens a tunnel to the address that it has checked', async () => {
  const { ask, opened, server } = await setUp({ names: { 'www.example': ['2a00::1', '93.184.216.34'] } });
  expect((await ask('/masque/www.example/443/')).status).toBe(0);
  expect(opened).toMatchObject([
    { target: { address: '2a00::1', port: 443 }, headers: { 'proxy-status': 'sheaf; next-hop="[2a00::1]:443"' } },
  ]);
  expect(server.answers).toEqual({ 200: 1 });
});

it('tries the next address when the system has no way to the first one', async () => {
  const names = { 'www.example': ['2a00::1', '93.184.216.34'] };
  const { ask, opened } = await setUp({ names, unroutable: ['2a00::1'] });
  await ask('/masque/www.example/443/');
  expect(opened.map(({ target }) => target.address)).toEqual(['93.184.216.34']);
  const none = await setUp({ names, unroutable: ['2a00::1', '93.184.216.34'] });
  const { status, fields } = await none.ask('/masque/www.example/443/');
  expect([status, fields['proxy-status']]).toEqual([502, 'sheaf; error=destination_ip_unroutable']);
});

it('says that it is full when the system has no more sockets', async () => {
  const { ask } = await setUp({ unroutable: ['8.8.8.8'], code: 'EMFILE' });
  expect((await ask('/masque/8.8.8.8/443/')).status).toBe(503);
});

it('a gateway that stops opens no tunnel, and says that another connection may do better', async () => {
  const { ask, resolved } = await setUp({ isDraining: () => true });
  const { status, fields } = await ask('/masque/8.8.8.8/443/');
  expect([status, fields]).toEqual([
    503,
    { 'retry-after': '1', 'proxy-status': 'sheaf; error=proxy_internal_response; details="draining"' },
  ]);
  expect(resolved).toEqual([]);
});

it('a name that has a permitted and a prohibited address leads to the permitted one alone', async () => {
  const { ask, opened } = await setUp({
    names: { 'mixed.example': ['127.0.0.1', '::ffff:10.1.1.1', '93.184.216.34'] },
  });
  await ask('/masque/mixed.example/443/');
  expect(opened.map(({ target }) => target.address)).toEqual(['93.184.216.34']);
});

it.each([
  ['/masque/www.example/80/', 403, 'sheaf; error=destination_ip_prohibited'],
  ['/masque/rebinding.example/443/', 403, 'sheaf; error=destination_ip_prohibited'],
  ['/masque/127.0.0.1/443/', 403, 'sheaf; error=destination_ip_prohibited'],
  ['/masque/%3A%3Affff%3A127.0.0.1/443/', 403, 'sheaf; error=destination_ip_prohibited'],
  ['/masque/203.0.114.9/443/', 403, 'sheaf; error=destination_ip_prohibited'],
  ['/masque/10.1.1.1/443/', 403, 'sheaf; error=destination_ip_prohibited'],
  ['/masque/unknown.example/443/', 502, 'sheaf; error=dns_error; rcode="NXDOMAIN"'],
  ['/masque/silent.example/443/', 504, 'sheaf; error=dns_timeout'],
  ['/masque/www.example/0/', 400, undefined],
  ['/masque/', 400, undefined],
  ['/masque/x/443/../../../other/', 404, undefined],
  ['/elsewhere/www.example/443/', 404, undefined],
])('answers %s with %i', async (path, status, proxyStatus) => {
  const { ask, opened } = await setUp({
    names: { 'rebinding.example': ['127.0.0.1'], 'silent.example': new ResolutionError(504, 'error=dns_timeout') },
  });
  const request = await ask(path);
  expect([request.status, request.fields['proxy-status']]).toEqual([status, proxyStatus]);
  expect(opened).toEqual([]);
});

it('resolves nothing for a client or a target that gets no tunnel', async () => {
  const { ask, resolved } = await setUp();
  expect((await ask('/masque/www.example/443/', { address: '198.51.100.1' })).status).toBe(403);
  expect((await ask('/masque/www.example/80/')).status).toBe(403);
  expect((await ask('/masque/www.example/443/', { early: true })).status).toBe(425);
  expect(resolved).toEqual([]);
});

it('asks for credentials as the client gives them, and bounds guesses', async () => {
  const route = { users: usersFile('ann:secret'), clients: undefined };
  const { ask, opened } = await setUp({ route });
  const withField = (name: string, value: string) => ask('/masque/8.8.8.8/443/', { headers: { [name]: value } });
  const none = await ask('/masque/8.8.8.8/443/');
  expect([none.status, none.fields]).toEqual([407, { 'proxy-authenticate': 'Basic realm="sheaf"' }]);
  const wrong = await withField('authorization', `Basic ${btoa('ann:guess')}`);
  expect([wrong.status, wrong.fields]).toEqual([401, { 'www-authenticate': 'Basic realm="sheaf"' }]);
  await withField('proxy-authorization', `Basic ${btoa('ann:secret')}`);
  await withField('authorization', 'Bearer secret');
  expect(opened).toHaveLength(2);
  for (let guess = 2; guess <= 10; ++guess) await withField('proxy-authorization', `Bearer ${guess}`);
  // Not even the right credentials count now: an attacker would learn that they are right.
  expect((await withField('authorization', 'Bearer secret')).status).toBe(429);
});

it('bounds tunnels of a user, of an address and of the route', async () => {
  const users = usersFile('ann:1\nbob:2');
  const bounded = async (limits: Record<string, number>, fields: string[]) => {
    const { ask } = await setUp({ route: { users, ...limits } });
    const statuses = [];
    for (const value of fields)
      statuses.push((await ask('/masque/8.8.8.8/443/', { headers: { authorization: value } })).status);
    return statuses;
  };
  expect(await bounded({ tunnels_per_user: 1 }, ['Bearer 1', 'Bearer 2', 'Bearer 1'])).toEqual([0, 0, 429]);
  expect(await bounded({ tunnels_per_address: 1 }, ['Bearer 1', 'Bearer 2'])).toEqual([0, 429]);
  expect(await bounded({ tunnels: 1 }, ['Bearer 1', 'Bearer 2'])).toEqual([0, 503]);
});

it('bounds new tunnels of a user, whatever became of earlier ones, and resolves no names for more', async () => {
  const { ask, resolved } = await setUp({ route: { users: usersFile('ann:1\nbob:2'), new_tunnels: 2 } });
  const statuses = [];
  for (const value of ['Bearer 1', 'Bearer 1', 'Bearer 1', 'Bearer 2'])
    statuses.push((await ask('/masque/unknown.example/443/', { headers: { authorization: value } })).status);
  expect(statuses).toEqual([502, 502, 429, 502]);
  expect(resolved).toHaveLength(3);
});

it('bounds new tunnels of an address where users have no names', async () => {
  const { ask } = await setUp({ route: { new_tunnels: 1, clients: '192.0.2.0/24' } });
  expect((await ask('/masque/8.8.8.8/443/')).status).toBe(0);
  expect((await ask('/masque/8.8.8.8/443/')).status).toBe(429);
  expect((await ask('/masque/8.8.8.8/443/', { address: '192.0.2.8' })).status).toBe(0);
});

it('a place is free again when the tunnel is over, and when none was opened', async () => {
  const { ask, opened } = await setUp({ route: { tunnels: 1 } });
  expect((await ask('/masque/unknown.example/443/')).status).toBe(502);
  const first = await ask('/masque/8.8.8.8/443/');
  expect((await ask('/masque/8.8.8.8/443/')).status).toBe(503);
  first.emit('close');
  expect((await ask('/masque/8.8.8.8/443/')).status).toBe(0);
  expect(opened).toHaveLength(2);
  // A client may keep its stream after the tunnel is over.
  opened[1]?.onOver?.(idle);
  expect((await ask('/masque/8.8.8.8/443/')).status).toBe(0);
  expect((await ask('/masque/8.8.8.8/443/')).status).toBe(503);
});

it('ends the response when the client has left while its name was resolved', async () => {
  const { ask, server } = await setUp({ clientHasLeft: true });
  const request = await ask('/masque/8.8.8.8/443/');
  expect([request.status, request.abandoned, server.answers]).toEqual([0, true, {}]);
});

it('writes a line for each tunnel', async () => {
  const { ask, opened, lines } = await setUp();
  await ask('/masque/8.8.8.8/443/');
  opened[0]?.onOver?.(idle);
  expect(lines.at(-1)).toMatchObject({
    msg: 'tunnel ended',
    target: '8.8.8.8:443',
    address: '8.8.8.8',
    httpVersion: '3',
    remoteAddress: '192.0.2.7:5',
    reason: 'idle',
    bytesToTarget: 2_400,
    drops: { clientTooLarge: 3 },
  });
});
