import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findPresentNginx } from '../../src/http/nginx.js';
import { Http2Requester } from '../../src/multi_end/real/http2_requester.js';
import { proxyConfiguration, startNginxProxy } from '../../src/multi_end/real/nginx_proxy.js';

const nginx = await findPresentNginx();
if (nginx.reasons.h2 !== undefined) console.log(`without nginx: ${nginx.reasons.h2}`);

test('every backend is an upstream whose connections are kept', () => {
  const configuration = proxyConfiguration(4433, ['127.0.0.1:1001', '127.0.0.1:1002']);
  expect(configuration).toContain('server 127.0.0.1:1001;\nserver 127.0.0.1:1002;\nkeepalive 32;');
  expect(configuration).toContain('listen 127.0.0.1:4433 ssl;\nhttp2 on;\nlisten 127.0.0.1:4433 quic;\nquic_gso on;');
});

test('an nginx of Debian 12 gets the parameter that it knows, and no sockets of UDP', () => {
  const old = { http2Directive: false, reasons: { h3: 'too old' } };
  const configuration = proxyConfiguration(4433, ['127.0.0.1:1001'], old);
  expect(configuration).toContain('listen 127.0.0.1:4433 ssl http2;');
  expect(configuration).not.toContain('quic');
});

test.skipIf(nginx.reasons.h2 !== undefined)(
  'requests over HTTP/2 reach the backend over one connection of HTTP/1.1, with their bodies',
  async () => {
    const seen: string[] = [];
    let connections = 0;
    const backend = createServer((request, response) => {
      seen.push(`${request.method} ${request.url} HTTP/${request.httpVersion}`);
      let bytes = 0;
      request.on('data', (chunk: Buffer) => (bytes += chunk.length));
      request.once('end', () => response.end(Buffer.alloc(1_000_000 + bytes)));
    }).listen(0, '127.0.0.1');
    backend.on('connection', () => (connections += 1));
    await once(backend, 'listening');
    const directory = await mkdtemp(join(tmpdir(), 'sheaf-nginx-'));
    const address = `127.0.0.1:${(backend.address() as AddressInfo).port}`;
    const proxy = await startNginxProxy(directory, [address], nginx);
    try {
      const requester = await Http2Requester.connect(proxy.port);
      const bytesOf = async (method: string, body?: Buffer): Promise<number> => {
        const answer = await requester.request({ ':method': method, ':path': '/file' }, body);
        expect(answer.status).toBe(200);
        let bytes = 0;
        for await (const chunk of answer.body) bytes += chunk.length;
        return bytes;
      };
      await expect(bytesOf('GET')).resolves.toBe(1_000_000);
      await expect(bytesOf('POST', Buffer.alloc(500_000))).resolves.toBe(1_500_000);
      await expect(bytesOf('GET')).resolves.toBe(1_000_000);
      await requester.close();
    } finally {
      await proxy.stop();
      backend.close();
      backend.closeAllConnections();
      await rm(directory, { recursive: true, force: true });
    }
    expect(seen).toEqual(['GET /file HTTP/1.1', 'POST /file HTTP/1.1', 'GET /file HTTP/1.1']);
    expect(connections).toBe(1);
  },
);
