import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import {
  congestionNames,
  errorMessage,
  exitCodes,
  loadNativeModule,
  pathSchedulerNames,
  systemErrorCode,
  UserError,
} from '@sheaf/gateway/client';
import type { ClientOptions, ClientRequestOptions, Http3Client } from '@sheaf/native';
import type { Command } from '../command.js';
import { clientOptions, parseUrl, type ConnectionFlags } from '../download/client_options.js';
import { discard } from '../download/discard.js';
import { downloadRepeatedly, type BodySink, type Requester } from '../download/download.js';
import { handshakePath, localAddressError, openPaths } from '../download/open_paths.js';
import { OutputFile } from '../download/output_file.js';
import { throughProxy, withProxyOptions, type ProxyFlags } from '../download/proxy.js';
import { parsePathOption, pathForm, type PathOption } from '../download/path_option.js';
import { fetchReport, reportLine } from '../download/report.js';
import { printLine, write, type World } from '../world.js';

interface FetchOptions extends ConnectionFlags, ProxyFlags {
  url: string;
  output: string | undefined;
  json: boolean;
  repeat: number;
  parallel: number;
  method: string | undefined;
  header: string[] | undefined;
  path: string[] | undefined;
  data: string | undefined;
  fail: boolean;
  timeout: number | undefined;
}

export const fetch: Command<FetchOptions> = {
  usage: 'fetch <url>',
  summary: "Request a URL over HTTP/3, with Sheaf's own client",
  options: (yargs) =>
    withProxyOptions(yargs)
      .positional('url', { type: 'string', demandOption: true, describe: 'URL that begins with https://' })
      .option('output', { alias: 'o', type: 'string', requiresArg: true, describe: 'Write the body to this file' })
      .option('insecure', { alias: 'k', type: 'boolean', default: false, describe: 'Accept any certificate' })
      .option('ca', {
        type: 'string',
        requiresArg: true,
        describe: 'Accept the certificate authorities of this PEM file, too',
      })
      .option('certificate-hash', {
        type: 'string',
        array: true,
        requiresArg: true,
        describe: 'Accept the certificate with this SHA-256',
      })
      .option('alpn', {
        type: 'string',
        array: true,
        choices: ['h3', 'hq-interop'],
        default: ['h3'],
        describe: 'Offer this protocol; can be repeated',
      })
      .option('method', { alias: 'X', type: 'string', requiresArg: true, describe: 'Send this request method' })
      .option('header', {
        alias: 'H',
        type: 'string',
        array: true,
        requiresArg: true,
        describe: 'Send this header, `name: value`; can be repeated',
      })
      .option('data', { alias: 'd', type: 'string', requiresArg: true, describe: 'Send this file as the body (POST)' })
      .option('path', {
        type: 'string',
        array: true,
        requiresArg: true,
        describe: `Use this path, \`${pathForm}\`; can be repeated`,
      })
      .option('path-scheduler', {
        choices: pathSchedulerNames,
        default: 'ecf' as const,
        requiresArg: true,
        describe: 'Choose the path of each packet to the server by this rule',
      })
      .option('congestion', {
        choices: congestionNames,
        default: 'cubic' as const,
        requiresArg: true,
        describe: 'Send with this congestion controller',
      })
      .option('repeat', { type: 'number', default: 1, describe: 'Send this many requests over one connection' })
      .option('parallel', { type: 'number', default: 1, describe: 'Have this many requests in flight at one time' })
      .option('timeout', { type: 'number', requiresArg: true, describe: 'Fail after this many seconds' })
      .option('fail', { type: 'boolean', default: false, describe: 'Exit with code 5 for a status of 400 or more' })
      .option('qlog', { type: 'string', requiresArg: true, describe: 'Write a qlog file into this directory' })
      .option('json', {
        type: 'boolean',
        default: false,
        describe: 'Print JSON about the transfer instead of the body',
      })
      .example('$0 fetch --insecure https://127.0.0.1:4433/', 'Print a page')
      .example('$0 fetch -k -o big.bin https://127.0.0.1:4433/big.bin', 'Save a file')
      .example(
        '$0 fetch -k --path 192.168.1.7 --path "10.0.0.7>10.0.0.1,backup" -o big.bin https://192.168.1.1:4433/big.bin',
        'Over two interfaces',
      )
      .example('$0 fetch -k --json --repeat 1000 --parallel 50 https://127.0.0.1:4433/', 'Time many requests'),
  async run(options, world) {
    checkCounts(options);
    const url = parseUrl(options.url);
    const request = await requestOptions(url, options, world);
    const paths = (options.path ?? []).map(parsePathOption);
    checkWeights(paths, options);
    const task: Transfer = { connection: await clientOptions(url, options, world), paths, request, options };
    if (options.output === undefined) {
      return transfer(
        task,
        world,
        options.json ? undefined : { sink: (part) => write(world.stdout, Buffer.from(part)) },
      );
    }
    const output = await OutputFile.open(resolve(world.cwd, options.output), options.output);
    const stop = world.onSignal(() => void discard(output, world).then(() => world.exit(exitCodes.interrupted)));
    try {
      return await transfer(task, world, output);
    } catch (error) {
      await discard(output, world);
      throw error;
    } finally {
      stop();
    }
  },
};

/** Destination of a body, informed when the body is complete */
interface Destination {
  sink: BodySink;
  commit?(): Promise<void>;
}

interface Transfer {
  connection: ClientOptions;
  paths: readonly PathOption[];
  request: ClientRequestOptions;
  options: FetchOptions;
}

async function transfer(
  { connection, paths, request, options }: Transfer,
  world: World,
  destination?: Destination,
): Promise<number> {
  const { connectHttp3 } = await loadNativeModule();
  const started = performance.now();
  const way = await openWay(connection, paths, options, world);
  const opened = connect(connectHttp3, way.connection, way.paths[0]);
  const client = await Promise.race([opened, way.refused]).catch(async (error: unknown) => {
    void opened.then((late) => late.close()).catch(() => undefined);
    await way.close();
    throw error;
  });
  try {
    way.begin(client);
    await openPaths(client, way.paths, world);
    const requester = await withBackends(client);
    const results = await withTimeout(
      downloadRepeatedly(requester, request, options, destination?.sink),
      options.timeout,
    );
    const { paths: used, backends } = client.status();
    const report = fetchReport(results, {
      ms: performance.now() - started,
      alpn: client.alpn,
      paths: used,
      backends: backends ?? [],
      tunnelReports: way.reports?.(),
    });
    const refusal = judge(report.status, report.sha256, options);
    if (!refusal) await destination?.commit?.();
    if (options.json) await printLine(world.stdout, JSON.stringify(report));
    else if (options.output !== undefined || options.repeat > 1) await printLine(world.stderr, reportLine(report));
    if (refusal) throw refusal;
    return exitCodes.success;
  } finally {
    await client.close().catch(() => undefined);
    await way.close();
  }
}

/** How the connection to the server begins: directly, or through a proxy */
interface Way {
  connection: ClientOptions;
  /** Paths of this connection, and not of the one to a proxy */
  paths: readonly PathOption[];
  /** Rejects when the proxy refuses. */
  refused: Promise<never>;
  begin(client: Http3Client): void;
  /** How often the server was told about the tunnel; undefined without one */
  reports?(): number;
  close(): Promise<void>;
}

async function openWay(
  connection: ClientOptions,
  paths: readonly PathOption[],
  { proxy, ...flags }: FetchOptions,
  world: World,
): Promise<Way> {
  if (proxy !== undefined) return { ...(await throughProxy(connection, paths, { ...flags, proxy }, world)), paths: [] };
  return {
    connection: { ...connection, ...handshakePath(paths[0], connection.port) },
    paths,
    refused: new Promise<never>(() => undefined),
    begin: () => undefined,
    close: () => Promise.resolve(),
  };
}

/** Minimum time in milliseconds for the server to offer its backends; longer if round trips are long */
const backendPatienceMs = 500;

/**
 * Waits for the server to offer its backends, which it does at once, so that the first request can already use them.
 */
async function withBackends(client: Http3Client): Promise<Requester> {
  const { multiEnd, paths } = client.status();
  if (!multiEnd) return client;
  const { BackendClient } = await import('@sheaf/gateway');
  const requester = new BackendClient(client);
  await requester.ready(Math.max(backendPatienceMs, 4 * (paths[0]?.smoothedRttMs ?? 0)));
  return requester;
}

function checkCounts({ repeat, parallel }: FetchOptions): void {
  for (const [name, value] of [
    ['repeat', repeat],
    ['parallel', parallel],
  ] as const) {
    if (!Number.isInteger(value) || value < 1)
      throw new UserError('USAGE', `--${name} takes a whole number from 1`, { hint: `for example --${name} 10` });
  }
}

function checkWeights(paths: readonly PathOption[], { pathScheduler }: FetchOptions): void {
  const weighted = paths.find(({ weight }) => weight !== undefined);
  if (!weighted || pathScheduler === 'weighted') return;
  throw new UserError(
    'USAGE',
    `--path ${weighted.text} has a weight, which has no effect with the path scheduler \`${pathScheduler}\``,
    { hint: 'add --path-scheduler weighted, or leave the weight out' },
  );
}

async function connect(
  connectHttp3: (options: ClientOptions) => Promise<Http3Client>,
  options: ClientOptions,
  path?: PathOption,
): Promise<Http3Client> {
  return connectHttp3(options).catch((error: unknown) => {
    const unusable = path && localAddressError(error, path.text);
    if (unusable) throw unusable;
    const message = errorMessage(error);
    const hint = /certificate|trust|verif/i.test(message)
      ? 'accept it with --insecure, --ca FILE or --certificate-hash HASH'
      : 'is the server up, and does UDP get through?';
    throw new UserError('CONNECT_FAILED', `no connection to ${options.host}:${options.port}: ${message}`, {
      hint,
      cause: error,
    });
  });
}

async function requestOptions(
  url: URL,
  { method, header, data, repeat }: FetchOptions,
  world: World,
): Promise<ClientRequestOptions> {
  if (data !== undefined && repeat > 1)
    throw new UserError('USAGE', '--data and --repeat exclude each other', { hint: 'send one request at a time' });
  const body = data === undefined ? undefined : await openBody(resolve(world.cwd, data), data);
  return {
    method: method ?? (data === undefined ? 'GET' : 'POST'),
    path: url.pathname + url.search,
    authority: url.host,
    headers: { 'user-agent': 'sheaf', ...Object.fromEntries((header ?? []).map(parseHeader)) },
    ...(body ? { body } : {}),
  };
}

async function openBody(path: string, shown: string): Promise<Readable> {
  const stream = createReadStream(path);
  try {
    await once(stream, 'ready');
    return stream;
  } catch (error) {
    throw new UserError('USAGE', `--data ${shown} cannot be read (${systemErrorCode(error) ?? 'unknown error'})`, {
      hint: 'name a file',
      cause: error,
    });
  }
}

function parseHeader(text: string): [string, string] {
  const match = /^([^\s:]+):\s*(.*)$/.exec(text);
  if (!match) throw new UserError('USAGE', `\`${text}\` is not a header`, { hint: 'write `name: value`' });
  return [(match[1] ?? '').toLowerCase(), match[2] ?? ''];
}

async function withTimeout<Value>(work: Promise<Value>, seconds: number | undefined): Promise<Value> {
  if (seconds === undefined) return work;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new UserError('REQUEST_TIMEOUT', `no complete response within ${seconds} s`, {
            hint: 'allow more with --timeout',
          }),
        ),
      seconds * 1_000,
    );
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}

/** Returns an error if a complete response is not what the user asked for. */
function judge(status: number, sha256: string | null, { fail, url }: FetchOptions): UserError | undefined {
  if (sha256 === null)
    return new UserError('CONTENT_DIFFERS', `${url} returned different bodies`, {
      hint: '--json lists the hash of each',
    });
  if (fail && status >= 400)
    return new UserError('HTTP_STATUS', `${url} answered ${status}`, { hint: 'leave out --fail to accept any status' });
  return undefined;
}
