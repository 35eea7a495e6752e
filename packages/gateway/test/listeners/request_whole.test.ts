import { connectHttp3, createHttp3Server, type Http3Client } from '@sheaf/native';
import { expect, it, onTestFinished } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { collect } from '../support/client.js';

const field = 'x-whole';

async function start(): Promise<Http3Client> {
  const certificate = await createDevCertificate(['localhost'], new Date());
  const server = createHttp3Server({ address: '127.0.0.1', port: 0, alpn: ['h3'], certificate });
  server.on('request', (request, response) => {
    request.resume();
    if (request.url !== '/plain') response.setHeader(field, 'yes');
    if (request.url === '/broken') {
      response.write('a part of it');
      setTimeout(() => response.destroy(new Error('it breaks off')), 20);
    } else response.end(Buffer.alloc(request.url === '/long' ? 300_000 : 5_000, 'a'));
  });
  const { port } = await server.listen();
  onTestFinished(() => server.close(0));
  const client = await connectHttp3({ host: '127.0.0.1', port, insecure: true });
  onTestFinished(() => client.close());
  return client;
}

it('gives responses with the field whole, and others as they are', async () => {
  const client = await start();
  const response = await client.requestWhole({ path: '/' }, { field, bytes: 5_000 });
  if (!('whole' in response)) throw new Error('the response is not whole');
  expect([response.status, response.headers[field]]).toEqual([200, 'yes']);
  expect(response.whole.equals(Buffer.alloc(5_000, 'a'))).toBe(true);
  const plain = await client.requestWhole({ path: '/plain' }, { field, bytes: 5_000 });
  if ('whole' in plain) throw new Error('the response is whole');
  expect((await collect(plain)).length).toBe(5_000);
});

it('cuts a body that is too long, and tells so by its length', async () => {
  const client = await start();
  const response = await client.requestWhole({ path: '/long' }, { field, bytes: 5_000 });
  if (!('whole' in response)) throw new Error('the response is not whole');
  expect(response.whole.length).toBeGreaterThan(5_000);
  expect(response.whole.length).toBeLessThan(300_000);
});

it('rejects when the response breaks off, or is not wanted any more', async () => {
  const client = await start();
  await expect(client.requestWhole({ path: '/broken' }, { field, bytes: 5_000 })).rejects.toThrow();
  const signal = AbortSignal.abort();
  await expect(client.requestWhole({ path: '/', signal }, { field, bytes: 5_000 })).rejects.toMatchObject({
    code: 'REQUEST_CANCELLED',
  });
});
