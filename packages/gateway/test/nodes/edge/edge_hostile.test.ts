import { createHttp3Server, type ServedConnection, type ServerResponse } from '@sheaf/native';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseConfiguration } from '../../../src/configuration/load.js';
import type { LoadedEdge } from '../../../src/schema/loaded.js';
import { Edge } from '../../../src/nodes/edge/edge.js';
import { createDevCertificate } from '../../../src/tls/dev_certificate.js';
import { get, getByHttp2 } from '../../support/client.js';
import { ask, connect } from '../../support/http3_client.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';

/** An edge to a gateway that answers in its own way; returns the edge's port. */
async function startEdgeTo(
  answer: (response: ServerResponse, connection: ServedConnection) => void,
  takesBodies = true,
): Promise<number> {
  const server = createHttp3Server({
    address: '127.0.0.1',
    port: 0,
    alpn: ['h3'],
    certificate: await createDevCertificate(['localhost'], new Date()),
  });
  server.on('request', (request, response) => {
    if (takesBodies) request.resume();
    else request.destroy();
    answer(response, request.connection);
  });
  const { port } = await server.listen();
  onTestFinished(() => server.close(0));
  const text = `nodes: { laptop: { role: edge, listen: "127.0.0.1:0", gateway: { address: "127.0.0.1:${port}", certificate: insecure } } }`;
  const { nodes } = parseConfiguration(text, `${await temporaryDirectory()}/sheaf.yaml`);
  const edge = await Edge.start(nodes[0] as LoadedEdge, { logStream: { write: () => true } });
  onTestFinished(() => edge.close(0));
  return edge.address.port;
}

/** The status over each version, or `broken` for a stream that was reset. */
async function statuses(port: number): Promise<(number | string)[]> {
  const client = await connect(port);
  const requests = [get(port, '/'), getByHttp2(port, '/'), ask(client, { path: '/' })];
  return Promise.all(requests.map((request) => request.then(({ status }) => status).catch(() => 'broken')));
}

describe('what a gateway says wrong', () => {
  it.each([999, 600, 199, 101, 0])('the status %i is a bad answer', async (status) => {
    const port = await startEdgeTo((response) => response.writeHead(status).end('body'));
    expect(await statuses(port)).toEqual([502, 502, 502]);
  });

  it('fields that stand twice are joined', async () => {
    const port = await startEdgeTo((response) =>
      response
        .writeHead(200, {
          etag: ['"a"', '"b"'],
          age: ['1', '2'],
          'content-type': ['text/plain', 'text/html'],
          'set-cookie': ['a=1', 'b=2'],
        })
        .end('body'),
    );
    expect(await statuses(port)).toEqual([200, 200, 200]);
    expect((await getByHttp2(port, '/')).headers).toMatchObject({ etag: '"a", "b"', 'set-cookie': ['a=1', 'b=2'] });
  });

  it('a body that does not have its length is cut off', async () => {
    const port = await startEdgeTo((response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.end('short');
    });
    expect(await statuses(port)).toEqual(['broken', 'broken', 'broken']);
  });

  it('an early answer arrives although nobody takes the body of the request', async () => {
    const port = await startEdgeTo((response) => response.writeHead(403).end('no'), false);
    const body = Buffer.alloc(20_000_000);
    const refused = { status: 403, body: Buffer.from('no') };
    expect(await ask(await connect(port), { path: '/', method: 'POST', body })).toMatchObject(refused);
    expect(await get(port, '/', { method: 'POST', body })).toMatchObject(refused);
  });
});

describe('a connection that dies before the response begins', () => {
  /** A gateway that closes the connection of the first requests; counts all of them. */
  async function startDying(deaths: number) {
    const requests = { count: 0 };
    const port = await startEdgeTo((response, connection) => {
      requests.count += 1;
      if (requests.count <= deaths) connection.close();
      else response.end('alive');
    });
    return { port, requests };
  }

  it('costs a request that can be repeated nothing', async () => {
    const { port, requests } = await startDying(1);
    expect(await get(port, '/')).toMatchObject({ status: 200, body: Buffer.from('alive') });
    expect(requests.count).toBe(2);
  });

  it('is made up for once', async () => {
    const { port, requests } = await startDying(2);
    expect(await get(port, '/')).toMatchObject({ status: 502 });
    expect(requests.count).toBe(2);
    expect(await get(port, '/')).toMatchObject({ status: 200 });
  });

  it.each([
    ['POST', undefined],
    ['PUT', Buffer.from('body')],
  ])('is not made up for when %s could do something twice', async (method, body) => {
    const { port, requests } = await startDying(1);
    expect(
      await get(port, '/', { method, ...(body ? { body, headers: { 'content-length': String(body.length) } } : {}) }),
    ).toMatchObject({ status: 502 });
    expect(requests.count).toBe(1);
  });

  it('in the middle of a response breaks it off', async () => {
    const port = await startEdgeTo((response, connection) => {
      response.write(Buffer.alloc(100_000));
      setTimeout(() => connection.close(), 100);
    });
    expect(await statuses(port)).toEqual(['broken', 'broken', 'broken']);
  });
});
