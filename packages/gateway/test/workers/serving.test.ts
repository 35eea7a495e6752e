import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { get, getByHttp2 } from '../support/client.js';
import { ask, connect } from '../support/http3_client.js';
import { openSession } from '../support/sessions.js';
import { crash, startWorkers, threadOf } from '../support/workers.js';

const yaml = (more = ''): string => `listen: 127.0.0.1:0\nworkers: 4\nroutes: [{ files: ./site }]\n${more}`;

it('four workers answer HTTP/3, HTTP/2 and HTTP/1.1 at one port, and share the connections', async () => {
  const site = await startWorkers(yaml('http: 127.0.0.1:0'));
  const clients = await Promise.all(Array.from({ length: 24 }, () => connect(site.port)));
  for (const client of clients) expect((await ask(client, { path: '/a.txt' })).body.toString()).toBe('hello');
  const workers = await site.workers();
  expect(workers.map(({ worker, state }) => [worker, state])).toEqual([0, 1, 2, 3].map((index) => [index, 'serving']));
  expect(workers.reduce((sum, { quicConnections = 0 }) => sum + quicConnections, 0)).toBe(24);
  // That one of four gets none of 24 happens once in 250 times; that two get none, never.
  expect(workers.filter(({ quicConnections }) => quicConnections! > 0).length).toBeGreaterThanOrEqual(3);
  for (let turn = 0; turn < 12; turn++) {
    expect((await get(site.port, '/a.txt')).body.toString()).toBe('hello');
    expect((await getByHttp2(site.port, '/a.txt')).body.toString()).toBe('hello');
  }
  const plain = await fetch(`http://127.0.0.1:${site.node.httpAddress?.port}/a.txt`);
  expect(await plain.text()).toBe('hello');
  const lines = site.log.filter(({ msg, http }) => msg === 'request' && http !== '3');
  await vi.waitFor(() => expect(new Set(lines.map(({ worker }) => worker)).size).toBeGreaterThan(1), 30_000);
  expect((await site.status()).requestsTotal).toBe(24 + 24 + 1);
});

it('a worker that crashes costs its own connections, and has a successor at the same sockets', async () => {
  const site = await startWorkers(yaml());
  const clients = await Promise.all(Array.from({ length: 16 }, () => connect(site.port)));
  for (const client of clients) await ask(client, { path: '/a.txt' });
  const busy = (await site.workers()).find(({ quicConnections }) => quicConnections! > 0)!;
  const closed: number[] = [];
  clients.forEach((client, index) => client.once('close', () => closed.push(index)));
  await crash(site.node, busy.worker);
  // The successor resets what it does not know, so its clients hear of it with their next packet.
  const answers = await Promise.allSettled(clients.map((client) => ask(client, { path: '/a.txt' })));
  expect(answers.filter(({ status }) => status === 'rejected')).toHaveLength(busy.quicConnections!);
  expect(closed).toHaveLength(busy.quicConnections!);
  for (let turn = 0; turn < 12; turn++) {
    expect((await get(site.port, '/a.txt')).status).toBe(200);
    expect((await ask(await connect(site.port), { path: '/a.txt' })).status).toBe(200);
  }
  const workers = await site.workers();
  expect(workers.map(({ restarts }) => restarts)).toEqual(
    [0, 1, 2, 3].map((worker) => (worker === busy.worker ? 1 : 0)),
  );
  expect(site.log).toContainEqual(
    expect.objectContaining({ worker: busy.worker, msg: 'a worker has ended and is replaced' }),
  );
});

it('while a worker is replaced, its new clients wait', async () => {
  const site = await startWorkers(yaml());
  // A thread that ends takes the connections with it that it has accepted.
  await Promise.all([0, 1, 2, 3].map((worker) => threadOf(site.node, worker).terminate()));
  const answers = Promise.all(Array.from({ length: 8 }, () => get(site.port, '/a.txt')));
  expect((await answers).map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
  expect((await ask(await connect(site.port), { path: '/a.txt' })).status).toBe(200);
});

it('sessions of WebTransport work at each worker', async () => {
  const site = await startWorkers(yaml().replace('routes: [', 'routes: [{ path: /echo, webtransport: echo }, '));
  for (let turn = 0; turn < 6; turn++) {
    const session = await openSession(site.port, '/echo', site.node.certificate.hash);
    session.close();
    await session.closed.catch(() => undefined);
  }
});

/** A module of a route that some workers cannot load */
const moduleFor = (refused: string): string =>
  `import { workerData } from 'node:worker_threads';
if (${refused}) throw new Error('this worker does not like it');
export default () => undefined;
`;
const withModule = yaml().replace('routes: [', 'routes: [{ path: /chat, webtransport: ./chat.mjs }, ');

it('a start that each worker refuses fails with its error', async () => {
  const refused = startWorkers(withModule, { 'site/a.txt': 'hello', 'chat.mjs': moduleFor('true') });
  await expect(refused).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('this worker does not like it') as string,
    hint: expect.any(String) as string,
  });
});

it('a start that one worker refuses serves by the others, and the node is not ready', async () => {
  const site = await startWorkers(withModule, {
    'site/a.txt': 'hello',
    'chat.mjs': moduleFor('workerData.index === 2'),
  });
  // The first packets of some clients wait for the worker that does not serve.
  const client = await Promise.any(Array.from({ length: 8 }, () => connect(site.port)));
  expect((await ask(client, { path: '/a.txt' })).status).toBe(200);
  const status = await site.status();
  expect(status.state).toBe('starting');
  expect(status.workers?.map(({ worker, state }) => state === 'serving' || worker)).toEqual([true, true, 2, true]);
  expect(status.workers?.[2]?.reason).toContain('this worker does not like it');
});

it('a port that is taken is refused as by a node with one worker', async () => {
  const other = createTcpServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await expect(startWorkers(yaml().replace(':0', `:${port}`))).rejects.toMatchObject({ code: 'PORT_TAKEN' });
  const first = await startWorkers(yaml());
  await expect(startWorkers(yaml().replace(':0', `:${first.port}`))).rejects.toMatchObject({ code: 'PORT_TAKEN' });
});

it('drains in all workers', async () => {
  const upstream = createServer((_request, response) => {
    response.write('first');
    setTimeout(() => response.end('last'), 500);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void upstream.close());
  await once(upstream, 'listening');
  const { port } = upstream.address() as AddressInfo;
  const site = await startWorkers(yaml().replace('files: ./site', `upstream: "http://127.0.0.1:${port}"`));
  const clients = await Promise.all(Array.from({ length: 8 }, () => connect(site.port)));
  const responses = await Promise.all(clients.map((client) => client.request({ path: '/' })));
  const bodies = responses.map(async (response) => (await response.toArray()).join(''));
  await site.running.close(10_000);
  expect(await Promise.all(bodies)).toEqual(clients.map(() => 'firstlast'));
  await expect(get(site.port, '/')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
