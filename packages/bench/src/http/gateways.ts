import { spawn } from 'node:child_process';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { version } from '@sheaf/gateway';
import { capture } from '../process/run_program.js';
import { freePort } from '@sheaf/gateway/client';
import { firstOutput, stop, untilListening } from '../process/service.js';

/** A gateway under test, which serves the files of a directory over HTTP/3 on loopback */
export interface GatewayUnderTest {
  name: string;
  version: string;
  port: number;
  pid: number;
  stop(): Promise<void>;
}

export interface Site {
  /** Scratch directory, whose folder `files` is served */
  directory: string;
  files: string;
}

/** What the configuration of a file server depends on */
export interface FileServer {
  port: number;
  /** Directory that it serves */
  files: string;
}

/** Creates `large` with this many bytes, and `small` with 1 KB. */
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

/** Returns the configuration of a Sheaf that serves files. */
export const sheafConfiguration = ({ port, files }: FileServer, alpn = 'h3'): string =>
  `listen: 127.0.0.1:${port}\ntls: dev\nalpn: [${alpn}]\nlog: { level: warn }\nroutes:\n  - { path: /, files: ${JSON.stringify(files)} }\n`;

/** `further`: lines of its configuration */
export async function startSheaf(
  { directory, files }: Site,
  { alpn, further = '' }: { alpn?: string; further?: string } = {},
): Promise<GatewayUnderTest> {
  const port = await freePort();
  const configuration = join(directory, 'sheaf.yaml');
  await writeFile(configuration, `${sheafConfiguration({ port, files }, alpn)}${further}`);
  const child = spawn(process.execPath, [join(import.meta.dirname, 'sheaf_process.js'), configuration], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await firstOutput(child, 'sheaf');
  return { name: 'sheaf', version, port, pid: child.pid ?? 0, stop: () => stop(child) };
}

/** Starts Caddy as a file server; undefined when it is not installed. */
export async function startCaddy({ directory, files }: Site, command: string): Promise<GatewayUnderTest | undefined> {
  return startCaddyWith(directory, fileDirectives(files), command);
}

const fileDirectives = (files: string): string[] => [`root * ${files}`, 'file_server'];

/** Returns the configuration of a Caddy that serves files. */
export const caddyFilesConfiguration = ({ port, files }: FileServer): string => caddyfile(port, fileDirectives(files));

/** Returns a Caddyfile with these directives for its one site. */
export function caddyfile(port: number, directives: readonly string[]): string {
  const site = ['tls internal', ...directives].map((line) => `\t${line}\n`).join('');
  return `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\tlog {\n\t\tlevel ERROR\n\t}\n}\nhttps://localhost:${port} {\n${site}}\n`;
}

/** Returns Caddy's version. One that `go install` built does not know it, but its directory has it in its name. */
function versionOf(output: string, command: string): string {
  const [printed = 'unknown'] = output.trim().split(' ');
  return printed === 'unknown' ? (/caddy-(v[\d.]+)/.exec(command)?.[1] ?? printed) : printed;
}

/** Starts Caddy with these directives for its one site; undefined when it is not installed. */
export async function startCaddyWith(
  directory: string,
  directives: readonly string[],
  command = 'caddy',
): Promise<GatewayUnderTest | undefined> {
  const caddyVersion = await capture(command, ['version']);
  if (caddyVersion === undefined) return undefined;
  const port = await freePort();
  const configuration = join(directory, 'Caddyfile');
  await writeFile(configuration, caddyfile(port, directives));
  const state = { XDG_DATA_HOME: join(directory, 'caddy'), XDG_CONFIG_HOME: join(directory, 'caddy') };
  const child = spawn(command, ['run', '--config', configuration, '--adapter', 'caddyfile'], {
    env: { ...process.env, ...state },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await untilListening(child, 'caddy', port);
  return {
    name: 'caddy',
    version: versionOf(caddyVersion, command),
    port,
    pid: child.pid ?? 0,
    stop: () => stop(child),
  };
}
