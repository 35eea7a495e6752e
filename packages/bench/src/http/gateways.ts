import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError, version } from '@sheaf/gateway';
import { capture } from '../process/run_program.js';

/** A gateway under test: serves the files of a directory over HTTP/3 on loopback. */
export interface GatewayUnderTest {
  name: string;
  version: string;
  port: number;
  pid: number;
  stop(): Promise<void>;
}

export interface Site {
  /** Scratch directory; `files` in it is what is served. */
  directory: string;
  files: string;
}

/** Makes `large` with so many bytes and `small` with 1 KB. */
export async function makeSite(directory: string, largeBytes: number): Promise<Site> {
  const files = join(directory, 'files');
  await mkdir(files);
  const block = Buffer.alloc(1 << 20, 'sheaf ');
  const large = await open(join(files, 'large'), 'w');
  for (let written = 0; written < largeBytes; written += block.length) {
    await large.write(block, 0, Math.min(block.length, largeBytes - written));
  }
  await large.close();
  await writeFile(join(files, 'small'), block.subarray(0, 1000));
  return { directory, files };
}

export async function startSheaf({ directory, files }: Site, alpn = 'h3'): Promise<GatewayUnderTest> {
  const port = await freePort();
  const configuration = join(directory, 'sheaf.yaml');
  await writeFile(configuration, `listen: 127.0.0.1:${port}\ntls: dev\nalpn: [${alpn}]\nlog: { level: warn }\nroutes:\n  - { path: /, files: ${JSON.stringify(files)} }\n`);
  const child = spawn(process.execPath, [join(import.meta.dirname, 'sheaf_process.js'), configuration], { stdio: ['ignore', 'pipe', 'inherit'] });
  await firstOutput(child, 'sheaf');
  return { name: 'sheaf', version, port, pid: child.pid ?? 0, stop: () => stop(child) };
}

/** Undefined when Caddy is not installed. */
export async function startCaddy({ directory, files }: Site): Promise<GatewayUnderTest | undefined> {
  const caddyVersion = await capture('caddy', ['version']);
  if (caddyVersion === undefined) return undefined;
  const port = await freePort();
  const caddyfile = join(directory, 'Caddyfile');
  await writeFile(
    caddyfile,
    `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tlog {\n\t\tlevel ERROR\n\t}\n}\nhttps://localhost:${port} {\n\ttls internal\n\troot * ${files}\n\tfile_server\n}\n`,
  );
  const state = { XDG_DATA_HOME: join(directory, 'caddy'), XDG_CONFIG_HOME: join(directory, 'caddy') };
  const child = spawn('caddy', ['run', '--config', caddyfile, '--adapter', 'caddyfile'], { env: { ...process.env, ...state }, stdio: ['ignore', 'ignore', 'inherit'] });
  await untilListening(child, port);
  return { name: 'caddy', version: caddyVersion.trim().split(' ')[0] ?? 'unknown', port, pid: child.pid ?? 0, stop: () => stop(child) };
}

async function firstOutput(child: ChildProcess, name: string): Promise<void> {
  const ended = once(child, 'close').then(() => {
    throw new UserError('BENCH_FAILED', `${name} ended before it served`, { hint: 'its message is above' });
  });
  if (child.stdout) await Promise.race([once(child.stdout, 'data'), ended]);
  ended.catch(() => undefined);
}

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  for (let attempt = 0; attempt < 150; attempt += 1) {
    if (child.exitCode !== null) throw new UserError('BENCH_FAILED', 'caddy ended before it served', { hint: 'its message is above' });
    if (await isTaken(port)) return;
    await sleep(100);
  }
  await stop(child);
  throw new UserError('BENCH_FAILED', `caddy did not listen on port ${port} within 15 s`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await closed;
  clearTimeout(timer);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function isTaken(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(true));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(false)));
  });
}
