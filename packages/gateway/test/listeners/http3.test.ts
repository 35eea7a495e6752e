import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect as connectTcp } from 'node:net';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadConfiguration } from '../../src/configuration/load.js';
import { onlyGateway } from '../../src/schema/loaded.js';
import { Gateway } from '../../src/nodes/gateway.js';
import { certificateHash } from '../../src/tls/certificate_files.js';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { get, getByHttp2 } from '../support/client.js';
import { startFullGateway } from '../support/gateway.js';
import { ask, connect } from '../support/http3_client.js';
import { temporaryDirectory } from '../support/temporary_directory.js';
import { freePort } from '../../src/values/free_port.js';
import { startUpstream } from '../support/upstream.js';

const large = randomBytes(3_000_000);

async function startSite(yaml = '') {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'site', 'a.txt'), '0123456789');
  await writeFile(join(directory, 'site', 'large.bin'), large);
  return startFullGateway(`${yaml}\nroutes: [{ files: ./site }]`, directory);
}

describe('files over HTTP/3', () => {
  it('come whole, in ranges, and not at all when they did not change', async () => {
    const { port } = await startSite();
    const client = await connect(port);
    const whole = await ask(client, { path: '/a.txt' });
    expect([whole.status, whole.body.toString(), whole.headers['content-type']]).toEqual([
      200,
      '0123456789',
      'text/plain; charset=utf-8',
    ]);
    const range = await ask(client, { path: '/a.txt', headers: { range: 'bytes=2-4' } });
    expect([range.status, range.body.toString()]).toEqual([206, '234']);
    const again = await ask(client, { path: '/a.txt', headers: { 'if-none-match': String(whole.headers['etag']) } });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    const head = await ask(client, { method: 'HEAD', path: '/a.txt' });
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, '10', 0]);
    expect((await ask(client, { path: '/%2e%2e/sheaf.yaml' })).status).toBe(404);
  });

  it('come whole when they are large, many at one time', async () => {
    const { port } = await startSite();
    const client = await connect(port);
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(client, { path: '/large.bin' })));
    for (const { body } of answers) expect(body.equals(large)).toBe(true);
  });

  it('are offered to TCP clients by Alt-Svc', async () => {
    const { port } = await startSite();
    expect((await get(port, '/a.txt')).headers['alt-svc']).toBe(`h3=":${port}"; ma=86400`);
  });

  it('are logged and counted with their version', async () => {
    const { port, log, gateway } = await startSite();
    const client = await connect(port);
    await ask(client, { path: '/a.txt' });
    await vi.waitFor(
      () => expect(log.find((line) => line['msg'] === 'request')).toMatchObject({ http: '3', status: 200, bytes: 10 }),
      30_000,
    );
    expect(gateway.status()).toMatchObject({
      connections: [{ alpn: 'h3', state: 'established' }],
      transport: { connectionsAccepted: 1, connectionsOpenGauge: 1 },
    });
  });

  it('come over HTTP/0.9 too when it is configured', async () => {
    const { port } = await startSite('alpn: [h3, hq-interop]');
    const client = await connect(port, { alpn: ['hq-interop'] });
    expect(client.alpn).toBe('hq-interop');
    expect((await ask(client, { path: '/a.txt' })).body.toString()).toBe('0123456789');
  });

  it('leave a qlog file per connection', async () => {
    const { port, directory, gateway } = await startSite('qlog: ./qlog');
    const client = await connect(port);
    await ask(client, { path: '/a.txt' });
    await client.close();
    await gateway.close(0);
    const files = await readdir(join(directory, 'qlog'));
    expect(files).toEqual([expect.stringMatching(/\.sqlog$/)]);
  });
});

describe('upstreams over HTTP/3', () => {
  it('get the body while it streams, and what the gateway adds', async () => {
    const upstream = await startUpstream((request, response) => {
      response.setHeader('x-seen', `${String(request.headers['x-forwarded-for'])} ${request.headers.via}`);
      request.pipe(response);
    });
    const { port } = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const client = await connect(port);
    const answer = await ask(client, {
      method: 'POST',
      path: '/',
      body: Readable.from([large.subarray(0, 1_000_000), large.subarray(1_000_000)]),
    });
    expect(answer.headers['x-seen']).toBe('127.0.0.1 3 sheaf');
    expect(answer.body.equals(large)).toBe(true);
  });

  it('refuse a body over the limit while it streams', async () => {
    const upstream = await startUpstream(
      (request, response) =>
        void request
          .on('error', () => undefined)
          .resume()
          .on('end', () => response.end()),
    );
    const { port } = await startFullGateway(
      `limits: { body_size: 100KB }\nroutes: [{ upstream: "${upstream.origin}" }]`,
    );
    const client = await connect(port);
    const body = Readable.from([Buffer.alloc(60_000), Buffer.alloc(60_000), Buffer.alloc(60_000)]);
    expect((await ask(client, { method: 'POST', path: '/', body })).status).toBe(413);
    expect((await ask(client, { method: 'POST', path: '/', body: Buffer.alloc(10) })).status).toBe(200);
  });

  it('hear of a client that gave up', async () => {
    const closed = vi.fn();
    const upstream = await startUpstream((_request, response) => void response.on('close', closed).write('start'));
    const { port } = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const client = await connect(port);
    const response = await client.request({ path: '/' });
    response.on('error', () => undefined);
    await once(response, 'data');
    response.destroy();
    await vi.waitFor(() => expect(closed).toHaveBeenCalled(), 30_000);
  });
});

describe('stopping', () => {
  it('lets a request in flight finish', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const arrived = vi.fn();
    const upstream = await startUpstream((_request, response) => {
      arrived();
      void released.then(() => response.end('late'));
    });
    const { port, gateway } = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const client = await connect(port);
    const answer = ask(client, { path: '/' });
    await vi.waitFor(() => expect(arrived).toHaveBeenCalled(), 30_000);
    const closed = gateway.close(20_000);
    release();
    expect((await answer).body.toString()).toBe('late');
    await closed;
    const socket = createSocket('udp4').bind(port, '127.0.0.1');
    await once(socket, 'listening');
    socket.close();
  });
});

describe('the port', () => {
  it('is refused when only UDP is taken, and TCP is free again afterwards', async () => {
    const port = await freePort();
    const other = createSocket('udp4');
    other.bind(port, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const directory = await temporaryDirectory();
    await writeFile(
      join(directory, 'sheaf.yaml'),
      `listen: 127.0.0.1:${port}\nroutes: [{ files: . }]\nlog: { level: silent }\n`,
    );
    const loaded = onlyGateway(await loadConfiguration(join(directory, 'sheaf.yaml')));
    await expect(Gateway.start(loaded)).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      message: expect.stringContaining('UDP') as string,
    });
    await expect(get(port, '/')).rejects.toThrow('ECONNREFUSED');
  });
});

describe('the certificate', () => {
  it('is replaced on UDP as well', async () => {
    const directory = await temporaryDirectory();
    const names = ['localhost', '127.0.0.1'];
    const [first, second] = await Promise.all([
      createDevCertificate(names, new Date()),
      createDevCertificate(names, new Date()),
    ]);
    const write = (pair: typeof first) =>
      Promise.all([
        writeFile(join(directory, 'cert.pem'), pair.certificate),
        writeFile(join(directory, 'key.pem'), pair.privateKey),
      ]);
    await write(first);
    const { port, gateway } = await startFullGateway(
      'tls: { cert: cert.pem, key: key.pem }\nroutes: [{ files: . }]',
      directory,
    );
    const trusting = (pair: typeof first) =>
      connect(port, { insecure: false, certificateHashes: [certificateHash(pair)] });
    await trusting(first);
    await expect(trusting(second)).rejects.toThrow();
    await write(second);
    await gateway.certificate.refresh();
    await trusting(second);
    await expect(trusting(first)).rejects.toThrow();
  });
});

describe('garbage', () => {
  it('on UDP and TCP leaves the gateway serving', async () => {
    const { port } = await startSite();
    const socket = createSocket('udp4');
    onTestFinished(() => void socket.close());
    for (let index = 0; index < 500; index++) {
      const datagram = randomBytes(1 + (index % 1400));
      // Half of them look like a long header of version 1.
      if (index % 2 === 0 && datagram.length > 5) Buffer.from([0xc0, 0, 0, 0, 1]).copy(datagram);
      socket.send(datagram, port, '127.0.0.1');
    }
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const connection = connectTcp(port, '127.0.0.1').on('error', () => undefined);
        connection.end(randomBytes(300));
        await once(connection.resume(), 'close');
      }),
    );
    const client = await connect(port);
    expect((await ask(client, { path: '/a.txt' })).status).toBe(200);
    expect((await get(port, '/a.txt')).status).toBe(200);
  });

  it('as large headers is refused', async () => {
    const { port } = await startSite();
    expect((await get(port, '/a.txt', { headers: { large: 'x'.repeat(40_000) } })).status).toBe(431);
    expect((await getByHttp2(port, '/a.txt', { headers: { large: 'x'.repeat(40_000) } })).status).toBe(431);
    expect((await get(port, '/a.txt')).status).toBe(200);
  });
});
