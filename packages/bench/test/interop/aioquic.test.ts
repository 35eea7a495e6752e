import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { devCertificateFiles, loadDevCertificate } from '@sheaf/gateway';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '@sheaf/gateway/client';
import { aioquicClient, aioquicServer, json, sheaf, startProgram, type RunningProgram } from './programs.js';

const sha256 = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

/** What aioquic's server answers to /bytes/N. */
const patternBytes = (count: number): Buffer =>
  Buffer.from(Uint8Array.from({ length: count }, (_, index) => ((index % 251) * 31) % 251));

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sheaf-interop-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('aioquic as the client of a gateway', () => {
  const large = patternBytes(3_000_000);
  let gateway: RunningProgram;
  let port: number;

  beforeAll(async () => {
    port = await freePort();
    mkdirSync(join(directory, 'site'));
    writeFileSync(join(directory, 'site', 'large.bin'), large);
    writeFileSync(
      join(directory, 'sheaf.yaml'),
      `listen: 127.0.0.1:${port}\ntls: dev\nalpn: [h3, hq-interop]\nroutes:\n  - { path: /echo, webtransport: echo }\n  - { path: /, files: ./site }\n`,
    );
    gateway = await startProgram(sheaf, ['up', join(directory, 'sheaf.yaml')], /ready/);
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
  });

  test('downloads over HTTP/3', async () => {
    expect(await aioquicClient('http3', port, '/large.bin')).toEqual({
      status: 200,
      bytes: large.length,
      sha256: sha256(large),
    });
  });

  test('is told when there is no such page', async () => {
    expect(await aioquicClient('http3', port, '/none')).toMatchObject({ status: 404 });
  });

  test('downloads over hq-interop', async () => {
    expect(await aioquicClient('hq', port, '/large.bin')).toEqual({ bytes: large.length, sha256: sha256(large) });
  });

  test('gets streams and datagrams of a WebTransport session back', async () => {
    expect(await aioquicClient('webtransport', port, '/echo')).toEqual({
      status: 200,
      bidirectional: true,
      unidirectional: true,
      datagram: true,
    });
  });
});

describe('sheaf fetch as the client of aioquic', () => {
  const size = 2_000_000;
  const hash = sha256(patternBytes(size));
  const fetchFrom = (port: number, path: string, options: readonly string[] = []): Promise<Record<string, unknown>> =>
    json(sheaf, ['fetch', `https://127.0.0.1:${port}${path}`, '--insecure', '--json', ...options]);
  let certificate: string;
  let key: string;

  beforeAll(async () => {
    await loadDevCertificate(directory, ['localhost'], new Date());
    ({ cert: certificate, key } = devCertificateFiles(directory));
  });

  test('downloads over HTTP/3 and hq-interop', async () => {
    const server = await aioquicServer(certificate, key);
    try {
      expect(await fetchFrom(server.port, `/bytes/${size}`)).toMatchObject({
        status: 200,
        bytes: size,
        sha256: hash,
        alpn: 'h3',
      });
      expect(await fetchFrom(server.port, `/bytes/${size}`, ['--alpn', 'hq-interop'])).toMatchObject({
        bytes: size,
        sha256: hash,
        alpn: 'hq-interop',
      });
    } finally {
      await server.stop();
    }
  });

  test('downloads after the server asked for a Retry', async () => {
    const server = await aioquicServer(certificate, key, ['--retry']);
    try {
      expect(await fetchFrom(server.port, `/bytes/${size}`)).toMatchObject({ status: 200, bytes: size, sha256: hash });
    } finally {
      await server.stop();
    }
  });
});
