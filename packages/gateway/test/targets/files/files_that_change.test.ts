import { execFileSync } from 'node:child_process';
import { renameSync, symlinkSync } from 'node:fs';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { StaticFiles } from '../../../src/targets/files/static_files.js';
import { fromNodeRequest } from '../../../src/http/node_request.js';
import { RequestHandler } from '../../../src/http/request_handler.js';
import { createLog } from '../../../src/observability/log.js';
import { compileRoute } from '../../../src/http/router.js';
import { collect, get } from '../../support/client.js';
import { startFullGateway, startGateway } from '../../support/gateway.js';
import { connect as connectHttp3 } from '../../support/http3_client.js';
import { logTo } from '../../support/nodes.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';

/** More than what sockets hold while their reader rests. */
const size = 64 * 2 ** 20;
let directory: string;
let file: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  await mkdir(join(directory, 'site'));
  file = join(directory, 'site', 'large.bin');
  await writeFile(file, '');
  await truncate(file, size);
});

describe('a file that becomes shorter while it is sent', () => {
  it('costs a client of HTTP/1.1 the connection: what came next would be taken for its rest', async () => {
    const { port } = await startGateway('routes: [{ files: ./site }]', directory);
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    await once(socket, 'secureConnect');
    const closed = once(socket, 'close');
    socket.on('error', () => undefined);
    const one = 'GET /large.bin HTTP/1.1\r\nhost: localhost\r\n\r\n';
    socket.write(one + one.replace('large.bin', 'absent'));
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    expect(first.toString('latin1')).toContain(`content-length: ${size}`);
    await truncate(file, 100_000);
    let received = first.length;
    let tail = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      tail = chunk.toString('latin1');
    });
    socket.resume();
    await closed;
    expect(received).toBeLessThan(size);
    expect(tail).not.toContain('HTTP/1.1');
  });

  it('resets the stream of HTTP/2', async () => {
    const { port } = await startGateway('routes: [{ files: ./site }]', directory);
    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    onTestFinished(() => session.destroy());
    const stream = session.request({ ':path': '/large.bin' });
    await once(stream, 'response');
    const failed = once(stream, 'error');
    await truncate(file, 100_000);
    stream.resume();
    await expect(failed).resolves.toMatchObject([{ code: 'ERR_HTTP2_STREAM_ERROR' }]);
    expect(stream.rstCode).not.toBe(0);
    const again = session.request({ ':path': '/large.bin' });
    expect((await collect(again)).length).toBe(100_000);
  });

  it('resets the stream of HTTP/3', async () => {
    const { port } = await startFullGateway('routes: [{ files: ./site }]', directory);
    const client = await connectHttp3(port);
    const response = await client.request({ path: '/large.bin' });
    await truncate(file, 100_000);
    await expect(collect(response)).rejects.toMatchObject({ code: 'STREAM_RESET' });
    expect((await collect(await client.request({ path: '/large.bin' }))).length).toBe(100_000);
  });
});

describe('a name that leads elsewhere a moment later', () => {
  it('does not matter once the file is open', async () => {
    await writeFile(join(directory, 'secret.bin'), Buffer.alloc(200_000, 's'));
    await writeFile(file, Buffer.alloc(200_000, 'p'));
    symlinkSync(join(directory, 'secret.bin'), join(directory, 'link'));
    const target = new StaticFiles({
      root: join(directory, 'site'),
      index: 'index.html',
      hidden: false,
      precompressed: false,
      max_age: 0,
    });
    const observer = { requestStarted: () => undefined, requestEnded: () => undefined };
    const handler = new RequestHandler({
      routes: [compileRoute({ path: '/' }, 0, target)],
      wellKnown: target,
      wellKnownPrefix: '/.well-known/sheaf/',
      maxHeaderBytes: 10_000,
      observer,
      log: createLog({ level: 'info', access: false }, logTo([])),
      timingName: 'sheaf-gateway',
    });
    const server = createServer((request, response) => {
      const setHeader = response.setHeader.bind(response);
      let swapped = false;
      response.setHeader = (name, value) => {
        // The decision has been made: now the name leads out of the directory.
        if (!swapped) renameSync(join(directory, 'link'), file);
        swapped = true;
        return setHeader(name, value);
      };
      void handler.handle(fromNodeRequest(request, { scheme: 'http' }), response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const bytes = async (): Promise<string> => {
      const socket = connectTcp(port, '127.0.0.1');
      socket.write('GET /large.bin HTTP/1.0\r\n\r\n');
      return (await collect(socket)).toString();
    };
    const answer = await bytes();
    expect(answer).toContain('content-length: 200000');
    expect(answer.endsWith('p'.repeat(200_000))).toBe(true);
  });
});

describe('what is no file', () => {
  it('is not found, and nothing waits for it', async () => {
    execFileSync('mkfifo', [join(directory, 'site', 'pipe')]);
    symlinkSync('/dev/zero', join(directory, 'site', 'zero'));
    symlinkSync('loop', join(directory, 'site', 'loop'));
    symlinkSync('/etc', join(directory, 'site', 'elsewhere'));
    const { port } = await startGateway('routes: [{ files: ./site }]', directory);
    for (const name of [
      'pipe',
      'zero',
      'loop',
      'elsewhere',
      'elsewhere/',
      'elsewhere/hostname',
      'large.bin/',
      'large.bin/x',
      'n'.repeat(300),
    ]) {
      expect([name, (await get(port, `/${name}`)).status]).toEqual([name, 404]);
    }
  });

  it('leaves no file open behind', async () => {
    const { port } = await startGateway('routes: [{ files: ./site }]', directory);
    await writeFile(join(directory, 'site', 'small.txt'), 'small');
    const openFiles = (): string =>
      execFileSync('sh', ['-c', `ls -l /proc/${process.pid}/fd | grep -c ${directory} || true`])
        .toString()
        .trim();
    for (const [path, headers, method] of [
      ['/small.txt', {}, 'GET'],
      ['/large.bin', {}, 'HEAD'],
      ['/large.bin', { range: 'bytes=5-9' }, 'GET'],
      ['/large.bin', { range: `bytes=${size}-` }, 'GET'],
      ['/large.bin', { 'if-none-match': '*' }, 'GET'],
      ['/large.bin', { 'if-match': '"x"' }, 'GET'],
      ['/site', {}, 'GET'],
    ] as const) {
      await get(port, path, { headers, method });
    }
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    socket.write('GET /large.bin HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    for (let attempt = 0; attempt < 200 && openFiles() !== '0'; attempt += 1)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(openFiles()).toBe('0');
  });
});
