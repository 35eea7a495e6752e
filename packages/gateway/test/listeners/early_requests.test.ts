import { once } from 'node:events';
import {
  createHttp3Server,
  type ClientOptions,
  type ClientRequestOptions,
  type Http3Server,
  type ServerRequest,
} from '@sheaf/native';
import { expect, it, onTestFinished } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { ask, connect } from '../support/http3_client.js';

/** How each request came: `early`, in 0-RTT, or `late`. */
async function start(answer: (request: ServerRequest) => number = () => 200) {
  const heard: string[] = [];
  const server: Http3Server = createHttp3Server({
    address: '127.0.0.1',
    port: 0,
    alpn: ['h3'],
    certificate: await createDevCertificate(['localhost'], new Date()),
  });
  server.on('request', (request, response) => {
    heard.push(`${request.method} ${request.early ? 'early' : 'late'}`);
    response.writeHead(answer(request));
    response.end('answer');
  });
  const { port } = await server.listen();
  onTestFinished(() => server.close(0));
  return { heard, server, port };
}

async function sessionOf(port: number, options: Partial<ClientOptions> = {}): Promise<Buffer> {
  const client = await connect(port, options);
  const [session] = (await once(client, 'session')) as [Buffer];
  await client.close();
  return session;
}

/** Asks for all at once, before the handshake is done. */
async function askEarly(port: number, session: Buffer, requests: readonly ClientRequestOptions[]) {
  const client = await connect(port, { session, earlyRequests: true });
  const before = client.status();
  const answers = await Promise.all(requests.map((options) => ask(client, options)));
  return { before, answers: answers.map(({ status, body }) => [status, body.toString()]), after: client.status() };
}

const get: ClientRequestOptions = { path: '/' };

it('leave in 0-RTT where they change nothing', async () => {
  const { heard, port } = await start();
  const session = await sessionOf(port);
  const post = { path: '/', method: 'POST', body: Buffer.from('order') };
  const { before, answers, after } = await askEarly(port, session, [get, { path: '/', method: 'OPTIONS' }, post]);
  expect(before).toMatchObject({ state: 'handshake', alpn: 'h3' });
  expect(answers).toEqual([
    [200, 'answer'],
    [200, 'answer'],
    [200, 'answer'],
  ]);
  expect(after).toMatchObject({ resumed: true, earlyData: true });
  expect(heard.sort()).toEqual(['GET early', 'OPTIONS early', 'POST late']);
});

it('leave in 0-RTT after the server has got another certificate', async () => {
  const { heard, server, port } = await start();
  const session = await sessionOf(port);
  server.updateCertificate(await createDevCertificate(['localhost'], new Date()));
  const { answers, after } = await askEarly(port, session, [get]);
  expect(answers).toEqual([[200, 'answer']]);
  expect(after).toMatchObject({ resumed: true, earlyData: true });
  expect(heard).toEqual(['GET early']);
});

it('are sent again where the server takes no 0-RTT with this session', async () => {
  const { heard, port } = await start();
  const session = await sessionOf((await start()).port);
  const { before, answers, after } = await askEarly(port, session, [get, get]);
  expect(before.state).toBe('handshake');
  expect(answers).toEqual([
    [200, 'answer'],
    [200, 'answer'],
  ]);
  expect(after).toMatchObject({ resumed: false, earlyData: false });
  expect(heard).toEqual(['GET late', 'GET late']);
});

// RFC 8470 §5.2.
it('are sent once more after 425, and then no more', async () => {
  const { heard, port } = await start(({ early }) => (early ? 425 : 200));
  const session = await sessionOf(port);
  expect((await askEarly(port, session, [get])).answers).toEqual([[200, 'answer']]);
  expect(heard).toEqual(['GET early', 'GET late']);

  const stubborn = await start(() => 425);
  const another = await sessionOf(stubborn.port);
  expect((await askEarly(stubborn.port, another, [get])).answers).toEqual([[425, 'answer']]);
  expect(stubborn.heard).toEqual(['GET early', 'GET late']);
});

it('wait for the handshake without a session, or with one that allows no 0-RTT', async () => {
  const { heard, port } = await start();
  const client = await connect(port, { earlyRequests: true });
  expect(client.status().state).toBe('established');
  await ask(client, get);
  const other = await connect(port, { session: Buffer.from('nonsense'), earlyRequests: true });
  expect(other.status().state).toBe('established');
  await ask(other, get);
  expect(heard).toEqual(['GET late', 'GET late']);
});

it('fail when nobody is there', async () => {
  const { server, port } = await start();
  const session = await sessionOf(port);
  await server.close(0);
  const client = await connect(port, { session, earlyRequests: true, connectTimeoutMs: 500 });
  await expect(client.request(get)).rejects.toMatchObject({ name: 'QuicError' });
});

it('a client that cannot even begin hears why', async () => {
  const { port } = await start();
  await expect(connect(port, { earlyRequests: true, certificateHashes: ['no hash'] })).rejects.toThrow(/hash/i);
});
