import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { open, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { collect } from '../../support/client.js';
import { ask, connect } from '../../support/http3_client.js';
import { loggedByBackends, returningSite, travelled } from '../../support/returning_site.js';
import { linesOfGateway } from '../../support/site.js';
import { startUpstream } from '../../support/upstream.js';

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const content = randomBytes(3_000_000);
const returned = { delivery: 'return', backend: 'backend1' };

it('the backend logs status and bytes of what it sent, and the client hears who that was', async () => {
  const running = await returningSite({ files: { 'large.bin': content } });
  const client = await connect(running.gateway.address.port);
  const { headers } = await ask(client, { path: '/large.bin', headers: { range: 'bytes=1000-1999999' } });
  expect(headers['server-timing']).toMatch(/^sheaf-gateway;dur=[\d.]+, sheaf-delivery;desc="return backend1"$/);
  const [line] = await loggedByBackends(running, '/large.bin');
  expect(line).toMatchObject({ ...returned, status: 206, bytes: 1_999_000, returned_bytes: 1_999_000 });
});

it('small files are returned from memory', async () => {
  const sizes = [1, 500, 4_096, 4_097, 20_000, 65_536];
  const files = Object.fromEntries(sizes.map((size) => [`${size}.bin`, randomBytes(size)]));
  const running = await returningSite({ files });
  const client = await connect(running.gateway.address.port);
  for (const [name, bytes] of Object.entries(files)) {
    for (let i = 0; i < 2; i += 1) {
      const { status, body } = await ask(client, { path: `/${name}` });
      expect([name, status, hash(body)]).toEqual([name, 200, hash(bytes)]);
    }
    expect(await travelled(running, `/${name}`, 2)).toMatchObject([returned, returned]);
    const lines = await loggedByBackends(running, `/${name}`, 2);
    expect(lines.map(({ bytes: sent }) => sent)).toEqual([bytes.length, bytes.length]);
  }
});

it('a page of a hundred objects comes from three backends, each whole and past the gateway', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`${index}.bin`, randomBytes(500 + index * 1_000)]),
  );
  const running = await returningSite({ backends: 3, files });
  const client = await connect(running.gateway.address.port);
  const answers = await Promise.all(
    Object.keys(files).map(async (name) => ({ name, body: (await ask(client, { path: `/${name}` })).body })),
  );
  for (const { name, body } of answers) expect([name, hash(body)]).toEqual([name, hash(files[name]!)]);
  const lines = await vi.waitFor(() => {
    const all = linesOfGateway(running);
    expect(all).toHaveLength(100);
    return all;
  }, 30_000);
  expect(lines.filter(({ fallback }) => fallback !== undefined)).toEqual([]);
  expect(new Set(lines.map(({ backend }) => backend)).size).toBe(3);
});

it('a backend that stops sends the responses that it has begun, and begins no more', async () => {
  const long = randomBytes(20_000_000);
  const running = await returningSite({ backends: 1, files: { 'long.bin': long } });
  const { port } = running.gateway.address;
  const reader = await connect(port, { maxStreamWindow: 200_000, initialStreamWindow: 200_000 });
  const begun = await reader.request({ path: '/long.bin' });
  await once(begun, 'readable');
  let closed = false;
  const closing = running.backends['backend1']!.close(30_000).then(() => (closed = true));
  const answer = await ask(await connect(port), { path: '/long.bin', headers: { range: 'bytes=0-99999' } });
  expect(answer.body.equals(long.subarray(0, 100_000))).toBe(true);
  expect(closed).toBe(false);
  expect(hash(await collect(begun))).toBe(hash(long));
  await closing;
  const lines = await travelled(running, '/long.bin', 2);
  const whole = lines.find(({ status }) => status === 200);
  expect(whole).toMatchObject({ ...returned, returned_bytes: long.length });
  expect(whole).not.toHaveProperty('fallback');
  expect(lines.find(({ status }) => status === 206)).toMatchObject({ delivery: 'proxy', fallback: 'draining' });
});

it('a backend that stops waits until its gateway has what it proxied meanwhile', async () => {
  const files = { 'long.bin': randomBytes(3_000_000), 'proxied.bin': randomBytes(1_400_000) };
  const running = await returningSite({ backends: 1, files });
  const window = { maxStreamWindow: 50_000, initialStreamWindow: 50_000 };
  const client = await connect(running.gateway.address.port, window);
  const begun = await client.request({ path: '/long.bin' });
  const closing = running.backends['backend1']!.close(30_000);
  const state = (): string | undefined => running.gateway.status().backends?.[0]?.state;
  await vi.waitFor(() => expect(state()).toBe('draining'), 30_000);
  const unread = await client.request({ path: '/proxied.bin' });
  // The backend has written all of it, but the gateway takes less for a client that reads nothing.
  expect(await loggedByBackends(running, '/proxied.bin')).toMatchObject([{ status: 200, bytes: 1_400_000 }]);
  expect(hash(await collect(begun))).toBe(hash(files['long.bin']));
  await travelled(running, '/long.bin');
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(hash(await collect(unread))).toBe(hash(files['proxied.bin']));
  await closing;
  await vi.waitFor(() => expect(state()).toBe('lost'), 30_000);
});

it('a file that changes while it is sent ends its response', async () => {
  const long = randomBytes(20_000_000);
  const running = await returningSite({ files: { 'long.bin': long } });
  const client = await connect(running.gateway.address.port, {
    maxStreamWindow: 200_000,
    initialStreamWindow: 200_000,
  });
  const response = await client.request({ path: '/long.bin' });
  await once(response, 'readable');
  const file = await open(join(running.directory, 'files', 'long.bin'), 'r+');
  onTestFinished(() => file.close());
  await file.write(randomBytes(20_000_000), 0, 20_000_000, 0);
  const chunks: Buffer[] = [];
  await expect(
    (async () => {
      for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    })(),
  ).rejects.toThrow();
  const got = Buffer.concat(chunks);
  expect(got.length).toBeGreaterThan(0);
  expect(got.equals(long.subarray(0, got.length))).toBe(true);
  expect((await stat(join(running.directory, 'files', 'long.bin'))).size).toBe(20_000_000);
});

/** A server with ranges, whose responses say who asked. */
function ranged(bytes: Buffer): (request: IncomingMessage, response: ServerResponse) => void {
  return ({ headers }, response) => {
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
    const start = Number(first ?? 0);
    const end = last === undefined || last === '' ? bytes.length : Number(last) + 1;
    response.writeHead(first === undefined ? 200 : 206, {
      etag: '"v1"',
      'content-length': end - start,
      'sheaf-accepted': 'status=200; length=5; first=0; tag="forged"',
      ...(first === undefined ? {} : { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }),
    });
    response.end(bytes.subarray(start, end));
  };
}

it('bodies of upstreams are returned', async () => {
  const upstream = await startUpstream(ranged(content));
  const running = await returningSite({ routes: `[{ path: /, upstream: "${upstream.origin}" }]` });
  const client = await connect(running.gateway.address.port);
  const whole = await ask(client, { path: '/app' });
  expect([whole.status, whole.headers['etag'], hash(whole.body)]).toEqual([200, '"v1"', hash(content)]);
  expect(whole.headers['sheaf-accepted']).toBeUndefined();
  expect(await travelled(running, '/app')).toMatchObject([{ ...returned, returned_bytes: content.length }]);
  const part = await ask(client, { path: '/part', headers: { range: 'bytes=1000-1999999' } });
  expect([part.status, hash(part.body)]).toEqual([206, hash(content.subarray(1_000, 2_000_000))]);
  expect(await travelled(running, '/part')).toMatchObject([returned]);
  expect(await loggedByBackends(running, '/part')).toMatchObject([{ status: 206, bytes: 1_999_000 }]);
});

it('an upstream has room for others once a body was read, though no client has it yet', async () => {
  const upstream = await startUpstream(ranged(content.subarray(0, 400_000)));
  const routes = `[{ path: /, upstream: { to: "${upstream.origin}", connections: 1 } }]`;
  const running = await returningSite({ routes });
  const client = await connect(running.gateway.address.port, { maxStreamWindow: 50_000, initialStreamWindow: 50_000 });
  const unread = await client.request({ path: '/unread' });
  unread.on('error', () => undefined);
  const { status, body } = await ask(await connect(running.gateway.address.port), { path: '/app' });
  expect([status, hash(body)]).toEqual([200, hash(content.subarray(0, 400_000))]);
  expect(await travelled(running, '/app')).toMatchObject([returned]);
  unread.destroy();
});

it('bodies of upstreams that nobody could go on with are proxied', async () => {
  const upstream = await startUpstream(({ url }, response) => {
    const length = { 'content-length': content.length };
    const etag = { etag: '"v1"' };
    response.writeHead(200, url === '/untagged' ? length : url === '/unknown' ? etag : { ...length, etag: 'W/"v1"' });
    response.end(content);
  });
  const running = await returningSite({ routes: `[{ path: /, upstream: "${upstream.origin}" }]` });
  const client = await connect(running.gateway.address.port);
  for (const path of ['/untagged', '/unknown', '/weak']) {
    expect(hash((await ask(client, { path })).body)).toBe(hash(content));
    expect(await travelled(running, path)).toMatchObject([{ delivery: 'proxy', fallback: 'unknown' }]);
  }
});

it('a body whose upstream fails after its head goes on from a backend', async () => {
  let failures = 0;
  const upstream = await startUpstream((request, response) => {
    if (request.headers.range !== undefined) return ranged(content)(request, response);
    failures += 1;
    response.writeHead(200, { etag: '"v1"', 'content-length': content.length });
    response.write(content.subarray(0, 1_000_000), () => response.destroy());
  });
  const running = await returningSite({ backends: 2, routes: `[{ path: /, upstream: "${upstream.origin}" }]` });
  const client = await connect(running.gateway.address.port);
  const { body } = await ask(client, { path: '/app' });
  expect(hash(body)).toBe(hash(content));
  expect(failures).toBe(1);
  const [line] = await travelled(running, '/app');
  expect(line).toMatchObject({ delivery: 'return', fallback: 'failed' });
  expect(running.log.filter(({ msg }) => msg === 'upstream failed')).toHaveLength(1);
});

it('an upstream is read no faster than the client reads, and left with it', async () => {
  let sent = 0;
  const closed = vi.fn();
  const upstream = await startUpstream((_request, response) => {
    response.on('close', closed);
    response.writeHead(200, { etag: '"v1"', 'content-length': 1_000_000_000 });
    const more = (): void => {
      while (!response.destroyed && sent < 1_000_000_000) {
        sent += 100_000;
        if (!response.write(content.subarray(0, 100_000))) return void response.once('drain', more);
      }
    };
    more();
  });
  const running = await returningSite({ routes: `[{ path: /, upstream: "${upstream.origin}" }]` });
  const client = await connect(running.gateway.address.port, {
    maxStreamWindow: 200_000,
    initialStreamWindow: 200_000,
  });
  const response = await client.request({ path: '/app' });
  response.on('error', () => undefined);
  await once(response, 'readable');
  await vi.waitFor(async () => {
    const before = sent;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(sent).toBe(before);
  }, 30_000);
  // What the sockets, the parser, the backend and the client hold
  expect(sent).toBeLessThan(20_000_000);
  response.destroy();
  await vi.waitFor(() => expect(closed).toHaveBeenCalled(), 30_000);
  const [line] = await loggedByBackends(running, '/app');
  expect(line).toMatchObject({ delivery: 'return', status: 200 });
  expect(Number(line!['bytes'])).toBeLessThan(2_000_000);
});
