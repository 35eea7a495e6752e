import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@sheaf/gateway/client';
import { makeCertificates, type TestCertificates } from './authority.js';
import { sheaf, startProgram, type RunningProgram } from './programs.js';

/** What every server of these tests answers to /bytes/N. */
export const patternBytes = (count: number): Buffer =>
  Buffer.from(Uint8Array.from({ length: count }, (_, index) => ((index % 251) * 31) % 251));

export const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');

/** A file of the site, and a body of a server. */
export interface Body {
  path: string;
  bytes: number;
  sha256: string;
}

function body(path: string, data: Buffer): Body {
  return { path, bytes: data.length, sha256: sha256(data) };
}

/** How a session that a client closed ended, as the module saw it. */
export interface ClosedSession {
  closeCode: number;
  reason: string;
}

/** A gateway with files and sessions to exercise, and one more that asks for Retry. */
export interface Site {
  directory: string;
  certificates: TestCertificates;
  port: number;
  /** Port of the gateway that answers each first packet with a Retry. */
  retryPort: number;
  small: Body;
  medium: Body[];
  large: Body;
  /** Port of a gateway whose connections end after a second of silence. */
  idlePort: number;
  /** Resolves when that gateway has no connection. */
  untilIdle(): Promise<void>;
  /** Retry packets that it has sent. */
  retries(): Promise<number>;
  /** What the module saw of the last session of /exercise that ended. */
  closedSession(): Promise<ClosedSession>;
  stop(): Promise<void>;
}

/** Threads that serve clients. Without a number the main thread does. */
const workers = process.env['SHEAF_INTEROP_WORKERS'];

const sizes = { small: 1_000, medium: [200_000, 350_000, 500_000, 750_000, 900_000, 1_200_000], large: 12_000_000 };

export async function startSite(): Promise<Site> {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-interop-'));
  const certificates = makeCertificates(directory);
  mkdirSync(join(directory, 'site'));
  const file = (name: string, data: Buffer): Body => {
    writeFileSync(join(directory, 'site', name), data);
    return body(`/${name}`, data);
  };
  const small = file('small.bin', patternBytes(sizes.small));
  const medium = sizes.medium.map((size) => file(`${size}.bin`, patternBytes(size)));
  const large = file('large.bin', patternBytes(sizes.large));
  writeFileSync(join(directory, 'site', 'index.html'), '<!doctype html><title>interoperability</title>');
  writeFileSync(join(directory, 'exercise.mjs'), readFileSync(join(import.meta.dirname, 'exercise_module.mjs')));
  const upstream = await startUpstream();
  const start = (name: string, limits: string): Promise<Gateway> =>
    startGateway(directory, certificates, { name, limits, upstream: upstream.port });
  const [plain, retry, idle] = await Promise.all([
    start('plain', ''),
    start('retry', 'retry: always'),
    start('idle', 'idle: 1s'),
  ]);
  const gateways = [plain, retry, idle];
  const closed = join(directory, 'closed.json');
  return {
    directory,
    certificates,
    port: plain.port,
    retryPort: retry.port,
    idlePort: idle.port,
    small,
    medium,
    large,
    retries: () => metric(retry, 'sheaf_quic_retries_sent_total'),
    async untilIdle() {
      while ((await metric(idle, 'sheaf_quic_connections_open')) > 0) await sleep(50);
    },
    async closedSession() {
      while (!existsSync(closed)) await sleep(20);
      const text = readFileSync(closed, 'utf8');
      rmSync(closed);
      return JSON.parse(text) as ClosedSession;
    },
    async stop() {
      const codes = await Promise.all(gateways.map(({ program }) => program.stop()));
      upstream.close();
      rmSync(directory, { recursive: true, force: true });
      if (codes.some((code) => code !== 0)) throw new Error(`the gateways ended with ${codes.join(', ')}`);
    },
  };
}

/** Says whether the gateway took a request out of 0-RTT. */
async function startUpstream(): Promise<{ port: number; close(): void }> {
  const server = createServer((request, response) =>
    response.end(request.headers['early-data'] === '1' ? 'early' : 'late'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}

async function metric({ admin }: Gateway, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

interface Gateway {
  program: RunningProgram;
  port: number;
  admin: number;
}

interface GatewayOptions {
  name: string;
  /** Keys of `limits`. */
  limits: string;
  upstream: number;
}

/** Ports are free when they are looked for; now and then another program is faster to take one. */
async function startGateway(
  directory: string,
  certificates: TestCertificates,
  options: GatewayOptions,
  attempts = 3,
): Promise<Gateway> {
  try {
    return await startGatewayOnce(directory, certificates, options);
  } catch (error) {
    if (attempts === 1 || !String(error).includes('PORT_TAKEN')) throw error;
    return startGateway(directory, certificates, options, attempts - 1);
  }
}

async function startGatewayOnce(
  directory: string,
  { certificate, key }: TestCertificates,
  { name, limits, upstream }: GatewayOptions,
): Promise<Gateway> {
  const [port, admin] = [await freePort(), await freePort()];
  const configuration = join(directory, `${name}.yaml`);
  const lines = [
    `listen: 127.0.0.1:${port}`,
    `admin: 127.0.0.1:${admin}`,
    `tls: { cert: ${certificate}, key: ${key} }`,
    'alpn: [h3, hq-interop]',
    `limits: { ${limits} }`,
    'log: { level: warn }',
    ...(workers === undefined ? [] : [`workers: ${workers}`]),
    'routes:',
    '  - { path: /exercise, webtransport: ./exercise.mjs }',
    '  - { path: /close, webtransport: ./exercise.mjs }',
    `  - { path: /early, upstream: "http://127.0.0.1:${upstream}" }`,
    '  - { path: /, files: ./site }',
  ];
  writeFileSync(configuration, `${lines.join('\n')}\n`);
  return { program: await startProgram(sheaf, ['up', configuration], /ready/), port, admin };
}
