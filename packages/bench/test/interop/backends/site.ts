import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, vi } from 'vitest';
import type { GatewayStatus } from '@sheaf/gateway';
import { freePort } from '@sheaf/gateway/client';
import { firstOutput, stop } from '../../../src/process/service.js';
import { makeCertificates, type TestCertificates } from '../authority.js';
import { sheaf, startProgram } from '../programs.js';
import { sha256, type Body } from '../site.js';

const backends = ['backend1', 'backend2', 'backend3'] as const;
type Backend = (typeof backends)[number];

/** Ways of a response from a backend to a client without Multi-End */
export const deliveries = ['proxy', 'return'] as const;
export type Delivery = (typeof deliveries)[number];

/** Size of a large file: enough for other keys and another address in the middle of it */
export const largeMegabytes = Number(process.env['SHEAF_INTEROP_MEGABYTES'] ?? 5);
const objects = 100;
/** Bytes of the objects of a page, each a little larger than the one before */
const [leastObject, largestObject] = [500, 100_000];

/** How a response travelled, from the gateway's access log */
export interface Travelled {
  path: string;
  status: number;
  bytes: number;
  /** Route of the request. Each backend and delivery has one of its own. */
  route: string;
  delivery: string;
  /** Node that made the response */
  backend: string;
  /** Why the gateway sent what the backend might have sent itself */
  fallback?: string;
  /** Whether the client left before the end */
  aborted?: true;
  /** Connection of the request */
  connection: string;
}

/** A gateway and three backends, each a process of its own. No two backends have a file in common. */
export interface BackendsSite {
  certificates: TestCertificates;
  /** Port of the gateway */
  port: number;
  /** A large file on each backend */
  files(delivery: Delivery): Body[];
  /** 100 objects of a page, on the backends in turns */
  page(delivery: Delivery): Body[];
  /** Updates the keys of the connection with the latest request. Resolves when the gateway uses the new ones. */
  updateKeys(): Promise<void>;
  /** Bytes of UDP payload that the gateway itself has sent to clients so far */
  bytesSent(): Promise<number>;
  /** Number of responses in the log so far */
  logged(): number;
  /** How responses with these bodies travelled, among those after the first `before` of the log. Waits until it has them all. */
  travelled(bodies: readonly Body[], before: number): Promise<Travelled[]>;
  stop(): Promise<void>;
}

const routeOf = (delivery: Delivery, backend: Backend): string => `/${delivery}/${backend}`;

/** Starts the site. Leaves nothing behind if part of it does not start. */
export async function startBackendsSite(): Promise<BackendsSite> {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-backends-'));
  const running: (() => Promise<unknown>)[] = [];
  const stopAll = async (): Promise<void> => {
    await Promise.all(running.map((stopOne) => stopOne()));
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    return await startIn(directory, running, stopAll);
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Adds what ends each process that it starts to `running`. */
async function startIn(
  directory: string,
  running: (() => Promise<unknown>)[],
  stopAll: () => Promise<void>,
): Promise<BackendsSite> {
  const certificates = makeCertificates(directory);
  const [port, admin] = [await freePort(), await freePort()];
  const file = join(directory, 'sheaf.yaml');
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify(await configuration(certificates, { port, admin })));
  const files = backends.map((backend, index) =>
    writeBody(directory, backend, `large-${index}.bin`, largeMegabytes * 1e6),
  );
  const page = Array.from({ length: objects }, (_, index) =>
    writeBody(directory, backends[index % backends.length]!, `object-${index}.bin`, sizeOfObject(index)),
  );
  mkdirSync(join(directory, 'site'));
  writeFileSync(join(directory, 'site', 'index.html'), '<!doctype html><title>backends</title>');
  const programs = await Promise.allSettled(
    backends.map((backend) => startProgram(sheaf, ['up', file, '--node', backend], /ready/)),
  );
  for (const program of programs) if (program.status === 'fulfilled') running.push(program.value.stop);
  for (const program of programs) if (program.status === 'rejected') throw program.reason;
  const gateway = fork(join(import.meta.dirname, 'gateway_program.mjs'), [file, 'site'], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  running.unshift(() => stop(gateway));
  await firstOutput(gateway, 'the gateway');
  const status = async (): Promise<GatewayStatus> =>
    (await (await fetch(`http://127.0.0.1:${admin}/status`)).json()) as GatewayStatus;
  await vi.waitFor(
    async () => {
      expect((await status()).backends?.map(({ state }) => state)).toEqual(backends.map(() => 'serving'));
      expect(returning(directory)).toEqual(new Set(backends));
    },
    { timeout: 60_000, interval: 100 },
  );
  const below = (delivery: Delivery, bodies: readonly Body[]): Body[] =>
    bodies.map((body) => ({ ...body, path: `/${delivery}${body.path}` }));
  return {
    certificates,
    port,
    files: (delivery) => below(delivery, files),
    page: (delivery) => below(delivery, page),
    async updateKeys() {
      gateway.send('update');
      await once(gateway, 'message', { signal: AbortSignal.timeout(30_000) });
    },
    bytesSent: async () => (await status()).transport?.bytesSent ?? 0,
    logged: () => accessLog(directory).length,
    travelled: (bodies, before) =>
      vi.waitFor(
        () => {
          const later = accessLog(directory).slice(before);
          const lines = later.filter(({ path }) => bodies.some((body) => body.path === path));
          expect(lines.length).toBeGreaterThanOrEqual(bodies.length);
          return lines;
        },
        { timeout: 30_000, interval: 50 },
      ),
    stop: stopAll,
  };
}

const sizeOfObject = (index: number): number =>
  Math.round(leastObject * (largestObject / leastObject) ** (index / (objects - 1)));

/** Writes random bytes: no part of a file is like a part of another one. */
function writeBody(directory: string, backend: Backend, name: string, bytes: number): Body {
  const data = randomBytes(bytes);
  const path = join(directory, backend, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, data);
  // A file that has not changed for a while has a strong tag, by which another node can go on with it.
  const settled = new Date(Date.now() - 60_000);
  utimesSync(path, settled, settled);
  return { path: `/${backend}/${name}`, bytes, sha256: sha256(data) };
}

async function configuration(
  { certificate, key }: TestCertificates,
  { port, admin }: { port: number; admin: number },
): Promise<object> {
  const common = async (): Promise<object> => ({
    backbone: `127.0.0.1:${await freePort()}`,
    tls: { cert: certificate, key },
  });
  const routes = (of: readonly Backend[], target: (backend: Backend, delivery: Delivery) => object): object[] =>
    deliveries.flatMap((delivery) =>
      of.map((backend) => ({ path: routeOf(delivery, backend), ...target(backend, delivery) })),
    );
  const site = {
    ...(await common()),
    role: 'gateway',
    listen: `127.0.0.1:${port}`,
    admin: `127.0.0.1:${admin}`,
    log: { file: 'access.log' },
    // Longer than a busy machine keeps a process waiting: nothing fails here.
    backends: backends.map((name) => ({ name, health: { timeout: '30s' } })),
    // Browsers fetch from the page at `/`.
    routes: [...routes(backends, (backend, delivery) => ({ backends: [backend], delivery })), { files: './site' }],
  };
  const described = backends.map(async (backend): Promise<[Backend, object]> => [
    backend,
    {
      ...(await common()),
      role: 'backend',
      listen: `127.0.0.1:${await freePort()}`,
      log: { level: 'warn' },
      primary: 'site',
      return: { from: `127.0.0.1:${port}`, via: 'own-address' },
      routes: routes([backend], () => ({ files: `./${backend}` })),
    },
  ]);
  return { nodes: { site, ...Object.fromEntries(await Promise.all(described)) } };
}

interface Line {
  msg: string;
}

/** Returns the lines about responses. */
const accessLog = (directory: string): Travelled[] =>
  logged<Travelled & Line>(directory).filter(({ msg }) => msg === 'request');

/** Returns the backends that have been able to send from the gateway's address. */
const returning = (directory: string): Set<string> =>
  new Set(
    logged<Line & { backend: string }>(directory)
      .filter(({ msg }) => msg === 'a backend can send responses from the address of this gateway')
      .map(({ backend }) => backend),
  );

const logged = <Kind extends Line>(directory: string): Kind[] =>
  readFileSync(join(directory, 'access.log'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Kind);
