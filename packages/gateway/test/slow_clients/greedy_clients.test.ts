import type { RequestListener } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { TcpNetConnectOpts } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { describe, expect, it, vi } from 'vitest';
import { collect } from '../support/client.js';
import { startFullGateway, type RunningGateway } from '../support/gateway.js';
import { ask, elsewhere, versions, type Version } from '../support/greedy.js';
import { ask as askByHttp3, connect } from '../support/http3_client.js';
import { startUpstream } from '../support/upstream.js';

const small = Buffer.alloc(1_024, 's');
/** More than the buffers of two sockets take. */
const large = Buffer.alloc(32_000_000, 'l');

/** Answers `/small` and `/large` at once, and anything else when its body is there. */
const answer: RequestListener = (request, response) => {
  if (request.url === '/small') response.end(small);
  else if (request.url === '/large') response.end(large);
  else
    request
      .on('error', () => undefined)
      .resume()
      .on('end', () => response.end(small));
};

/** The status of a request of somebody else, once its whole response is there. */
async function statusElsewhere(version: Version, port: number): Promise<number> {
  if (version === '3')
    return (await askByHttp3(await connect(port, { localAddress: elsewhere }), { path: '/small' })).status;
  if (version === '2') return statusByHttp2(port);
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      { host: '127.0.0.1', localAddress: elsewhere, port, path: '/small', agent: false, rejectUnauthorized: false },
      (response) => {
        collect(response).then(() => resolve(response.statusCode ?? 0), reject);
      },
    );
    request.once('error', reject).end();
  });
}

async function statusByHttp2(port: number): Promise<number> {
  // `localAddress` goes on to the socket; the types of node:tls do not name it.
  const options: ConnectionOptions & Pick<TcpNetConnectOpts, 'localAddress'> = {
    host: '127.0.0.1',
    port,
    localAddress: elsewhere,
    ALPNProtocols: ['h2'],
    rejectUnauthorized: false,
  };
  const socket = connectTls(options);
  const session = connectHttp2(`https://127.0.0.1:${port}`, { createConnection: () => socket });
  const stream = session.request({ ':path': '/small' });
  let status = 0;
  stream.once('response', (head) => (status = Number(head[':status'])));
  await collect(stream);
  session.destroy();
  return status;
}

const upstreamOf = ({ gateway }: RunningGateway) => gateway.status().routes[0]!.upstreams![0]!;

/** How many requests the greedy client makes; up to 1000 streams are granted to one. */
const count = Number(process.env['GREEDY_REQUESTS'] ?? 300);

/** Asks so often, one after another; the median of the times in milliseconds, to look at. */
async function medianElsewhere(version: Version, port: number, times = 20): Promise<number> {
  const taken: number[] = [];
  for (let index = 0; index < times; index++) {
    const begun = performance.now();
    expect(await statusElsewhere(version, port)).toBe(200);
    taken.push(performance.now() - begun);
  }
  return taken.sort((one, other) => one - other)[times / 2]!;
}

describe.each(versions)('one client of an upstream, over HTTP/%s,', (version) => {
  // A connection of HTTP/2 has 128 streams, and of HTTP/1.1 a tenth of its network's connections come in at once
  // (docs/reference/limits.md): the client keeps the rest to itself.
  const granted = Math.min(count, { '1.1': 100, '2': 128, '3': count }[version]);

  it.each([
    ['that does not read its responses', { path: '/large' }],
    ['that does not send its bodies', { path: '/body', method: 'POST', announced: 10 }],
  ])('%s leaves room for another one', async (title, request) => {
    const upstream = await startUpstream(answer);
    const running = await startFullGateway(
      `log: { level: warn, access: false }\nroutes: [{ upstream: { to: "${upstream.origin}", connections: 16, queue_timeout: 5m } }]\nlimits: { body_timeout: 5m, unread_timeout: 5m }`,
    );
    const idle = await medianElsewhere(version, running.port);
    await ask(version, running.port, count, request);
    // What does not get on for long makes room for more of the same client: not all of them need be waiting still.
    await vi.waitFor(() => expect(upstreamOf(running).waiting).toBeGreaterThan(granted / 2), 40_000);
    expect(upstreamOf(running)).toMatchObject({ active: 8 });
    const meanwhile = await medianElsewhere(version, running.port);
    expect(upstreamOf(running)).toMatchObject({ active: 8, up: true, failures: 0, refused: 0 });
    console.info(
      `HTTP/${version}, ${count} requests of one client ${title}: 1 KB for another one takes ${meanwhile.toFixed(1)} ms, ${(meanwhile / idle).toFixed(2)} times as long as before`,
    );
  });

  it.each([
    ['does not read its response', { path: '/large' }],
    ['does not send its body', { path: '/body', method: 'POST', announced: 10 }],
  ])('that has the only connection and %s loses it when another one waits', async (_title, request) => {
    const upstream = await startUpstream(answer);
    const running = await startFullGateway(
      `routes: [{ upstream: { to: "${upstream.origin}", connections: 1, queue_timeout: 5m } }]\nlimits: { body_timeout: 5m, unread_timeout: 5m }`,
    );
    const [outcome] = await ask(version, running.port, 1, request);
    await vi.waitFor(() => expect(upstreamOf(running)).toMatchObject({ active: 1 }), 30_000);
    expect(await statusElsewhere(version, running.port)).toBe(200);
    await vi.waitFor(
      () =>
        expect(request.path === '/large' ? running.gateway.status().requestsActive : outcome?.status).toBe(
          request.path === '/large' ? 0 : 408,
        ),
      30_000,
    );
    expect(upstreamOf(running)).toMatchObject({ up: true, failures: 0, ended: 1 });
  });
});
