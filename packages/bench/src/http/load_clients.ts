import { UserError } from '@sheaf/gateway';
import { z } from 'zod';
import { buildWithCargo } from '../engine/subjects.js';
import { capture, runProgram } from '../process/run_program.js';
import { cargo, cmake, requireTools, type Tool } from '../process/toolchain.js';

/** HTTP/3, or HTTP/2 over TLS */
export const PROTOCOLS = ['h3', 'h2'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** The only cipher suite that the clients offer, so that every gateway encrypts with the same */
export const CIPHER_SUITE = 'TLS_AES_128_GCM_SHA256';

/** Requests over a number of connections, one at a time on each */
export interface Load {
  connections: number;
  /** Duration. With zero, each connection is opened and asks at most once. */
  seconds: number;
  /** Requests per second that are expected, from which a client that counts requests takes their number */
  expectedRate: number;
}

export interface Requests {
  requests: number;
  failed: number;
  seconds: number;
}

/** A client of one protocol, which asks a gateway on loopback */
export interface LoadClient {
  name: string;
  /** Downloads a file once. Returns the duration in seconds. @throws UserError unless it has `bytes` */
  download(port: number, file: string, bytes: number): Promise<number>;
  /** Requests a file over and over, for about the duration of the load. @throws UserError */
  requests(port: number, file: string, load: Load): Promise<Requests>;
}

const h2load: Tool = {
  name: 'h2load',
  install: 'apt-get install nghttp2-client',
  isInstalled: async () => (await capture('h2load', ['--version'])) !== undefined,
};

/** Builds or finds the client of a protocol. @throws UserError when tools are missing */
export async function loadClient(protocol: Protocol, progress: (line: string) => void): Promise<LoadClient> {
  if (protocol === 'h2') {
    await requireTools('the client of HTTP/2', [h2load]);
    return http2Client;
  }
  await requireTools('the client of HTTP/3', [cargo, cmake]);
  progress('building the client (quinn and h3)');
  return http3Client(await buildWithCargo('http-client'));
}

const downloadSchema = z.object({ bytes: z.number(), seconds: z.number().positive() });
const requestsSchema = z.object({ requests: z.number(), failed: z.number(), seconds: z.number().min(0) });

function http3Client(program: string): LoadClient {
  const run = async (port: number, ...words: string[]): Promise<unknown> =>
    JSON.parse(await runProgram(program, [`127.0.0.1:${port}`, 'localhost', ...words]));
  return {
    name: 'quinn + h3, one thread',
    async download(port, file, bytes) {
      const downloaded = downloadSchema.parse(await run(port, 'download', file));
      return checked(downloaded.bytes, bytes, downloaded.seconds);
    },
    requests: async (port, file, { connections, seconds }) =>
      requestsSchema.parse(await run(port, 'requests', file, String(connections), String(seconds))),
  };
}

const http2Client: LoadClient = {
  name: 'h2load, one thread',
  async download(port, file, bytes) {
    const { dataBytes, seconds } = parseH2load(
      await runH2load(port, file, ['-n', '1', '-c', '1', '-w', '30', '-W', '30']),
    );
    return checked(dataBytes, bytes, seconds);
  },
  async requests(port, file, { connections, seconds, expectedRate }) {
    // Counts requests, since h2load with a duration waits for ever when a connection ends early.
    const count = Math.max(connections, Math.ceil(seconds * expectedRate));
    return parseH2load(
      await runH2load(port, file, ['-n', String(count), '-c', String(connections), '-m', '1', '-N', '30']),
    );
  },
};

async function runH2load(port: number, file: string, words: readonly string[]): Promise<string> {
  const address = `https://localhost:${port}${file}`;
  const output = await runProgram('h2load', ['-t', '1', '--tls13-ciphers', CIPHER_SUITE, ...words, address]);
  checkCipher(output);
  return output;
}

/** Checks that a gateway did not choose an older version of TLS, whose suites h2load offers, too. @throws UserError */
export function checkCipher(output: string): void {
  const suite = /^Cipher: (\S+)$/m.exec(output)?.[1] ?? 'none';
  if (suite !== CIPHER_SUITE)
    throw new UserError('BENCH_FAILED', `the cipher suite is ${suite} instead of ${CIPHER_SUITE}`);
}

export interface H2loadResult {
  requests: number;
  failed: number;
  dataBytes: number;
  seconds: number;
}

const units: Readonly<Record<string, number>> = { us: 1e-6, ms: 1e-3, s: 1 };

/** Reads the summary that h2load prints. @throws UserError when it is not understood */
export function parseH2load(output: string): H2loadResult {
  const finished = /^finished in ([\d.]+)(us|ms|s),/m.exec(output);
  const counts = /^requests: .* (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/m.exec(output);
  const data = /^traffic: .* \((\d+)\) data$/m.exec(output);
  if (!finished || !counts || !data)
    throw new UserError('BENCH_FAILED', 'h2load printed no summary', { hint: output.trim().split('\n').at(-1) ?? '' });
  return {
    requests: Number(counts[1]),
    failed: counts.slice(2).reduce((sum, count) => sum + Number(count), 0),
    dataBytes: Number(data[1]),
    seconds: Number(finished[1]) * (units[finished[2] ?? 's'] ?? 1),
  };
}

function checked(found: number, wanted: number, seconds: number): number {
  if (found === wanted) return seconds;
  throw new UserError('BENCH_FAILED', `${found} of ${wanted} bytes arrived`);
}
