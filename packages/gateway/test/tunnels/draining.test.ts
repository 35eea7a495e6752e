import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { startFullGateway } from '../support/gateway.js';
import { connect } from '../support/http3_client.js';
import { readAll, startTarget } from '../support/tcp_target.js';
import { ask, versions } from '../support/tcp_tunnels.js';

const startProxy = () =>
  startFullGateway('tls: dev\nroutes: [{ connect: { allow: 127.0.0.1, clients: 127.0.0.0/8 } }]\n');

it.each(versions)(
  'HTTP/%s: a tunnel lives while its gateway drains, and holds it up until it ends',
  async (version) => {
    const target = await startTarget();
    const { gateway, port } = await startProxy();
    const asked = await ask(version, port, { authority: `127.0.0.1:${target.port}` });
    const socket = await target.accept();
    const closed = gateway.close(60_000);
    asked.outgoing.write('still here');
    expect(String(((await once(socket, 'data')) as [Buffer])[0])).toBe('still here');
    expect(gateway.status().state).toBe('draining');
    const all = readAll(asked.incoming);
    socket.end('and the end');
    asked.outgoing.end();
    expect(await all).toBe('and the end');
    await closed;
  },
);

it.each(['1.1', '3'] as const)('HTTP/%s: it ends with the time for draining', async (version) => {
  const target = await startTarget();
  const { gateway, port } = await startProxy();
  const asked = await ask(version, port, { authority: `127.0.0.1:${target.port}` });
  const socket = await target.accept();
  const lost = new Promise((resolve) => void socket.resume().once('close', resolve));
  asked.incoming.resume();
  await Promise.all([gateway.close(200), lost, asked.code]);
});

it('a request that meets a gateway which drains hears that another connection may do better', async () => {
  const target = await startTarget();
  const { gateway, port } = await startProxy();
  const client = await connect(port);
  const request = () =>
    client.request({ method: 'CONNECT', path: '', authority: `127.0.0.1:${target.port}`, body: new PassThrough() });
  expect((await request()).status).toBe(200);
  const closed = gateway.close(60_000);
  // The client has not heard of it.
  const { status, headers } = await request();
  expect([status, headers['proxy-status']]).toEqual([503, 'sheaf; error=proxy_internal_response; details="draining"']);
  expect(gateway.status().tcpTunnels).toMatchObject({ open: 1, answers: { 200: 1, 503: 1 } });
  await client.close();
  await closed;
});
