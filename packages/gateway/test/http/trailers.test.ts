import type { ServerResponse } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { maxInterimResponses } from '../../src/http/interim_response.js';
import { collect } from '../support/client.js';
import { startFullGateway } from '../support/gateway.js';
import { ask, connect } from '../support/http3_client.js';
import { startPair } from '../support/nodes.js';
import { startUpstream } from '../support/upstream.js';

interface Heard {
  status: number;
  body: string;
  trailers: Record<string, unknown>;
  interim: { status: number; headers: Record<string, unknown> }[];
}

interface Question {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

type Asker = (port: number, question?: Question) => Promise<Heard>;

/** What a client of HTTP/1.1 hears. With `expect` the body is sent once it is asked for. */
const byHttp1: Asker = (port, { method = 'GET', headers = {}, body } = {}) =>
  new Promise((resolve, reject) => {
    const interim: Heard['interim'] = [];
    const request = httpsRequest(
      { host: '127.0.0.1', port, path: '/', method, headers, agent: false, rejectUnauthorized: false },
      (response) => {
        collect(response).then(
          (bytes) =>
            resolve({ status: response.statusCode ?? 0, body: bytes.toString(), trailers: response.trailers, interim }),
          reject,
        );
      },
    );
    request.on('information', ({ statusCode, headers: fields }) =>
      interim.push({ status: statusCode, headers: fields }),
    );
    request.on('error', reject);
    if (headers['expect'] === undefined) request.end(body);
    else request.on('continue', () => request.end(body)).flushHeaders();
  });

function openHttp2(port: number): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => session.destroy());
  return session;
}

const byHttp2: Asker = async (port, { method = 'GET', headers = {}, body } = {}) => {
  const heard: Heard = { status: 0, body: '', trailers: {}, interim: [] };
  const stream = openHttp2(port).request(
    { ':method': method, ':path': '/', ...headers },
    { endStream: body === undefined },
  );
  stream.on('headers', (fields) => {
    const { ':status': status = 0, ...rest } = fields;
    heard.interim.push({ status, headers: rest });
  });
  stream.on('response', (fields) => (heard.status = fields[':status'] ?? 0));
  stream.on('trailers', (fields) => (heard.trailers = Object.fromEntries(Object.entries(fields))));
  if (headers['expect'] === undefined) stream.end(body);
  else stream.once('continue', () => stream.end(body));
  heard.body = (await collect(stream)).toString();
  return heard;
};

const byHttp3: Asker = async (port, { method = 'GET', headers = {}, body } = {}) => {
  const interim: Heard['interim'] = [];
  let proceed = (): void => undefined;
  const asked = new Promise<void>((resolve) => (proceed = resolve));
  const bytes = async function* (): AsyncGenerator<Buffer> {
    if (headers['expect'] !== undefined) await asked;
    yield Buffer.from(body ?? '');
  };
  const client = await connect(port);
  const response = await client.request({
    method,
    path: '/',
    headers,
    ...(body === undefined ? {} : { body: bytes() }),
    onInformational: (status, fields) => {
      interim.push({ status, headers: fields });
      if (status === 100) proceed();
    },
  });
  return { status: response.status, body: (await collect(response)).toString(), trailers: response.trailers, interim };
};

const versions: [string, Asker][] = [
  ['HTTP/1.1', byHttp1],
  ['HTTP/2', byHttp2],
  ['HTTP/3', byHttp3],
];

/** As gRPC answers: the status comes behind the body. */
function answerWithTrailers(response: ServerResponse): void {
  response.writeHead(200, { trailer: 'grpc-status, grpc-message' });
  response.write('message');
  response.addTrailers({
    'grpc-status': '0',
    'grpc-message': 'fine',
    'x-forwarded-for': '6.6.6.6',
    'content-type': 'text/html',
  });
  response.end();
}

function hint(response: ServerResponse): void {
  response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style', 'x-hint': '1' });
}

describe.each(versions)('over %s', (_version, hear) => {
  it("an upstream's trailers arrive, but for those that nobody may send there", async () => {
    const upstream = await startUpstream((_request, response) => answerWithTrailers(response));
    const { port } = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const heard = await hear(port);
    expect(heard).toMatchObject({ status: 200, body: 'message' });
    expect(heard.trailers).toEqual({ 'grpc-status': '0', 'grpc-message': 'fine' });
  });

  it("an upstream's early hints arrive before its response", async () => {
    const upstream = await startUpstream((_request, response) => {
      hint(response);
      response.end('page');
    });
    const { port } = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const { interim, ...rest } = await hear(port);
    expect(rest).toMatchObject({ status: 200, body: 'page' });
    expect(interim).toEqual([
      {
        status: 103,
        headers: expect.objectContaining({ link: '</style.css>; rel=preload; as=style', 'x-hint': '1' }) as object,
      },
    ]);
  });

  it('an upstream that never comes to its response is abandoned', async () => {
    const upstream = await startUpstream((_request, response) => {
      for (let count = 0; count <= maxInterimResponses; count++) hint(response);
    });
    const { port, log } = await startFullGateway(`routes: [{ upstream: { to: "${upstream.origin}", retries: 0 } }]`);
    const heard = await hear(port);
    expect(heard.status).toBe(502);
    expect(heard.interim).toHaveLength(maxInterimResponses);
    expect(log).toContainEqual(
      expect.objectContaining({
        msg: 'upstream failed',
        error: expect.stringContaining('interim responses') as string,
      }),
    );
  });

  it('a client that waits for a word hears it when the upstream takes the body', async () => {
    const upstream = await startUpstream((request, response) => void request.pipe(response));
    const { port } = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const heard = await hear(port, { method: 'POST', headers: { expect: '100-continue' }, body: 'hello' });
    expect(heard).toMatchObject({ status: 200, body: 'hello' });
  });

  it('a client whose body nobody wants is spared it', async () => {
    const upstream = await startUpstream((_request, response) => void response.end());
    const { port } = await startFullGateway(`limits: { body_size: 10B }\nroutes: [{ upstream: "${upstream.origin}" }]`);
    const heard = await hear(port, {
      method: 'POST',
      headers: { expect: '100-continue', 'content-length': '11' },
      body: 'hello world',
    });
    expect(heard).toMatchObject({ status: 413, interim: [] });
  });

  it('trailers and early hints come through an edge', async () => {
    const upstream = await startUpstream((_request, response) => {
      hint(response);
      answerWithTrailers(response);
    });
    const { port } = await startPair({ gateway: [`routes: [{ upstream: "${upstream.origin}" }]`] });
    const heard = await hear(port);
    expect(heard).toMatchObject({
      status: 200,
      body: 'message',
      trailers: { 'grpc-status': '0', 'grpc-message': 'fine' },
    });
    expect(heard.interim).toMatchObject([{ status: 103, headers: { link: '</style.css>; rel=preload; as=style' } }]);
  });
});

describe('what a client asks of trailers', () => {
  it.each([
    ['HTTP/1.1, named in connection', byHttp1, { te: 'trailers', connection: 'close, te' }, 'trailers'],
    ['HTTP/1.1, not named', byHttp1, { te: 'trailers' }, undefined],
    ['HTTP/2', byHttp2, { te: 'trailers' }, 'trailers'],
    ['HTTP/3', byHttp3, { te: 'trailers' }, 'trailers'],
  ] as [string, Asker, Record<string, string>, string | undefined][])(
    'reaches the upstream: %s',
    async (_name, hear, headers, te) => {
      const upstream = await startUpstream((request, response) => void response.end(String(request.headers['te'])));
      const { port } = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
      expect((await hear(port, { headers })).body).toBe(String(te));
    },
  );
});

describe('an extended CONNECT', () => {
  it('of a protocol that no route speaks is refused with 501', async () => {
    const { port } = await startFullGateway('routes: [{ files: . }]');
    const client = await connect(port);
    expect((await ask(client, { method: 'CONNECT', protocol: 'echo', path: '/' })).status).toBe(501);
  });
});

describe('the transport', () => {
  it('carries trailers of requests, which are told once the body has ended', async () => {
    const { createHttp3Server, connectHttp3 } = await import('@sheaf/native');
    const { createDevCertificate } = await import('../../src/tls/dev_certificate.js');
    const server = createHttp3Server({
      address: '127.0.0.1',
      port: 0,
      certificate: await createDevCertificate(['127.0.0.1'], new Date()),
      alpn: ['h3'],
    });
    onTestFinished(() => server.close());
    server.on('request', (request, response) => {
      void collect(request).then((body) => {
        response.writeInformational(102);
        expect(() => response.writeInformational(101)).toThrow('invalid field');
        response.addTrailers({ 'x-seen': String(request.trailers['x-sum']), 'x-list': ['a', 'b'] });
        response.end(body);
      });
    });
    const { port } = await server.listen();
    const client = await connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true });
    onTestFinished(() => client.close());
    for (const body of [Buffer.from('hello'), Readable.from([Buffer.from('hel'), Buffer.from('lo')])]) {
      const interim: number[] = [];
      const response = await client.request({
        method: 'POST',
        path: '/',
        body,
        trailers: () => ({ 'x-sum': '5' }),
        onInformational: (status) => interim.push(status),
      });
      expect((await collect(response)).toString()).toBe('hello');
      expect(response.trailers).toEqual({ 'x-seen': '5', 'x-list': ['a', 'b'] });
      expect(interim).toEqual([102]);
    }
    await expect(
      ask(client, { method: 'POST', path: '/', body: Buffer.from('x'), trailers: () => ({ ':status': '200' }) }),
    ).rejects.toThrow();
    // A fault of one request is none of the connection's.
    expect((await ask(client, { method: 'POST', path: '/', body: Buffer.from('fine') })).body.toString()).toBe('fine');
  });

  it('hands requests of other protocols than WebTransport over when it is asked to', async () => {
    const { createHttp3Server } = await import('@sheaf/native');
    const { createDevCertificate } = await import('../../src/tls/dev_certificate.js');
    const server = createHttp3Server({
      address: '127.0.0.1',
      port: 0,
      certificate: await createDevCertificate(['127.0.0.1'], new Date()),
      alpn: ['h3'],
      extendedConnect: true,
    });
    onTestFinished(() => server.close());
    server.on(
      'request',
      (request, response) => void request.pipe(response.writeHead(200, { 'x-protocol': String(request.protocol) })),
    );
    const { port } = await server.listen();
    const client = await connect(port);
    const answer = await ask(client, {
      method: 'CONNECT',
      protocol: 'echo',
      path: '/',
      body: Buffer.from('to and fro'),
    });
    expect(answer).toMatchObject({ status: 200, headers: { 'x-protocol': 'echo' }, body: Buffer.from('to and fro') });
  });
});
