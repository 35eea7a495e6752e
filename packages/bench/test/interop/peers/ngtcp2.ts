import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@sheaf/gateway/client';
import type { ConnectionReport, Download, DownloadOptions, Peer, ServerOptions } from '../peer.js';
import type { RunningProgram } from '../programs.js';
import { servedSizes } from '../server_checks.js';
import { patternBytes, type Site } from '../site.js';

const client = '/usr/bin/gtlsclient';
const server = '/usr/sbin/gtlsserver';
const noSessions = "ngtcp2's programs have no WebTransport";

/** Runs the client to its end; returns what it says about the connection. */
async function run(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('timeout', ['100', client, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    const said: Buffer[] = [];
    child.stderr.on('data', (part: Buffer) => said.push(part));
    child.once('error', reject);
    child.once('close', (code) => {
      const text = Buffer.concat(said).toString();
      if (code === 0) resolve(text);
      else reject(new Error(`${client} ended with ${String(code)}:\n${text.slice(-2000)}`));
    });
  });
}

async function download(options: DownloadOptions): Promise<ConnectionReport[]> {
  const kept = mkdtempSync(join(tmpdir(), 'sheaf-ngtcp2-'));
  try {
    const reports: ConnectionReport[] = [];
    for (let index = 0; index < (options.connections ?? 1); index += 1)
      reports.push(await oneConnection(options, kept));
    return reports;
  } finally {
    rmSync(kept, { recursive: true, force: true });
  }
}

async function oneConnection(
  { port, paths, resume, early = false, largeHello = false, keyUpdate = false, migrate = false }: DownloadOptions,
  kept: string,
): Promise<ConnectionReport> {
  const into = join(kept, 'download');
  mkdirSync(into, { recursive: true });
  const session = join(kept, 'session');
  const said = await run([
    '--no-quic-dump',
    '--no-http-dump',
    '--exit-on-all-streams-close',
    '--sni=localhost',
    `--download=${into}`,
    ...(resume
      ? [
          `--session-file=${session}`,
          `--tp-file=${join(kept, 'parameters')}`,
          ...(existsSync(session) ? [] : ['--wait-for-ticket']),
        ]
      : []),
    ...(early ? [] : ['--disable-early-data']),
    // A key share of 1 KB beside the one that is taken.
    ...(largeHello ? ['--groups=-GROUP-ALL:+GROUP-FFDHE8192:+GROUP-X25519'] : []),
    ...(keyUpdate ? ['--key-update=1ms'] : []),
    ...(migrate ? ['--change-local-addr=1ms'] : []),
    '127.0.0.1',
    String(port),
    ...paths.map((path) => `https://localhost:${port}${path}`),
  ]);
  const sentEarly = / pkt tx .* type=0RTT /.test(said);
  return {
    downloads: paths.map((path) => described(path, into)),
    resumed: bytesOfServerHandshake(said) < minWithCertificate,
    early: sentEarly && !said.includes('Early data was rejected by server'),
    keyUpdates: said.split(' key update confirmed').length - 1,
    migrated: /^Path validation against path .* succeeded$/m.test(said),
  };
}

/** The least that a server sends in Handshake packets with its certificate and a signature; without both it is half of it. */
const minWithCertificate = 400;

function bytesOfServerHandshake(said: string): number {
  const ends = [...said.matchAll(/frm rx \d+ Handshake CRYPTO\(0x06\) offset=(\d+) len=(\d+)/g)].map(
    ([, offset, length]) => Number(offset) + Number(length),
  );
  return Math.max(0, ...ends);
}

function described(path: string, directory: string): Download {
  const data = readFileSync(join(directory, basename(path)));
  return { path, bytes: data.length, sha256: createHash('sha256').update(data).digest('hex') };
}

/** Serves files: one for each size that the checks ask for. */
function makeDocuments(site: Site): string {
  const documents = join(site.directory, 'documents');
  if (existsSync(documents)) return documents;
  mkdirSync(join(documents, 'bytes'), { recursive: true });
  for (const count of servedSizes) writeFileSync(join(documents, 'bytes', String(count)), patternBytes(count));
  return documents;
}

async function serve({ site, retry, otherGroup }: ServerOptions): Promise<RunningProgram & { port: number }> {
  const port = await freePort();
  const { certificate, key } = site.certificates;
  const options = [
    '-q',
    `--htdocs=${makeDocuments(site)}`,
    ...(retry ? ['--validate-addr'] : []),
    ...(otherGroup ? ['--groups=-GROUP-ALL:+GROUP-SECP384R1'] : []),
  ];
  const child = spawn(server, [...options, '127.0.0.1', String(port), key, certificate], { stdio: 'ignore' });
  const closed = once(child, 'close');
  // It says nothing; the kernel tells that it listens.
  while (!listens(port)) {
    if (child.exitCode !== null) throw new Error(`${server} ended with ${child.exitCode}`);
    await sleep(20);
  }
  return {
    line: '',
    port,
    async stop() {
      child.kill('SIGTERM');
      await closed;
      return child.exitCode;
    },
  };
}

const listens = (port: number): boolean =>
  readFileSync('/proc/net/udp', 'utf8').includes(`:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000`);

export const ngtcp2: Peer = {
  slug: 'ngtcp2',
  name: 'ngtcp2 1.11 (its own client and server)',
  protocol: 'h3',
  download,
  serve,
  cannot: {
    servesHelloRetry: "ngtcp2's server ends with a failed assertion when 0-RTT comes after its HelloRetryRequest",
    streams: noSessions,
    datagrams: noSessions,
    closes: noSessions,
  },
};
