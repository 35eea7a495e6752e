import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { errorMessage, exitCodes, loadNativeModule, systemErrorCode, UserError } from '@sheaf/gateway/client';
import type { PartHead } from '@sheaf/gateway/publication';
import type { ChannelCounts, Http3Client, WatchedChannel } from '@sheaf/native';
import type { Command } from '../command.js';
import { OutputDirectory } from '../directory/output_directory.js';
import { clientOptions, parseUrl } from '../download/client_options.js';
import { discard } from '../download/discard.js';
import type { BodySink } from '../download/download.js';
import { OrderedParts } from '../download/ordered_parts.js';
import { OutputFile } from '../download/output_file.js';
import { printLine, printNotice, write, type World } from '../world.js';

interface WatchOptions {
  url: string;
  output: string | undefined;
  report: boolean;
  insecure: boolean;
  ca: string | undefined;
  certificateHash: string[] | undefined;
  unicast: boolean;
  source: string[] | undefined;
  interface: string | undefined;
}

/** Milliseconds between reports */
const reportInterval = 1_000;

export const watch: Command<WatchOptions> = {
  usage: 'watch <url>',
  summary: 'Join a channel, and receive what is published next',
  options: (yargs) =>
    yargs
      .positional('url', { type: 'string', demandOption: true, describe: 'URL of the route that serves the channel' })
      .option('output', {
        alias: 'o',
        type: 'string',
        requiresArg: true,
        describe:
          'Write to this file, or the files of a directory to this one (new with / at its end, or empty); default: standard output',
      })
      .option('report', {
        type: 'boolean',
        default: false,
        describe: 'Print states and counts as JSON lines on standard error',
      })
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
      .option('unicast', { type: 'boolean', default: false, describe: 'Do not join the multicast group' })
      .option('source', {
        type: 'string',
        array: true,
        requiresArg: true,
        describe: 'Join groups of this source, too, beside those of the server; can be repeated',
      })
      .option('interface', { type: 'string', requiresArg: true, describe: 'Join on this network interface' })
      .example('$0 watch -k -o update.bin https://192.0.2.1:4433/live', 'Wait for a file')
      .example('$0 watch -k -o slides/ https://192.0.2.1:4433/live', 'Wait for a directory'),
  async run(options, world) {
    const url = parseUrl(options.url);
    const client = await connect(url, options, world);
    const output = options.output === undefined ? undefined : await openOutput(options.output, world);
    const stop = world.onSignal(() => void discard(output, world).then(() => world.exit(exitCodes.interrupted)));
    try {
      const channel = await join(client, url, options);
      const sink: BodySink = output?.sink ?? ((part) => write(world.stdout, Buffer.from(part)));
      const target = { sink, directory: output instanceof OutputDirectory };
      const received = await receive(channel, target, options.report ? world : undefined);
      await output?.commit();
      if (output) await printLine(world.stdout, `${received.bytes} bytes, sha256 ${received.sha256}`);
      return exitCodes.success;
    } catch (error) {
      await discard(output, world);
      throw error;
    } finally {
      stop();
      await client.close();
    }
  },
};

/** Opens a directory, which is empty or has `/` behind its name, or a file. @throws UserError */
async function openOutput(output: string, { cwd }: World): Promise<OutputFile | OutputDirectory> {
  const path = resolve(cwd, output);
  const isDirectory = output.endsWith('/') || (await stat(path).catch(() => undefined))?.isDirectory() === true;
  return (isDirectory ? OutputDirectory : OutputFile).open(path, output);
}

async function connect(url: URL, options: WatchOptions, world: World): Promise<Http3Client> {
  const connection = await clientOptions(
    url,
    { ...options, alpn: ['h3'], qlog: undefined, congestion: 'cubic', pathScheduler: 'ecf' },
    world,
  );
  const { connectHttp3 } = await loadNativeModule();
  // The source sends packets while there is nothing to receive, but a receiver of a group may not answer any.
  return connectHttp3({ ...connection, multiEnd: false, datagrams: true, keepAliveMs: 10_000 }).catch(
    (error: unknown) => {
      throw new UserError('CONNECT_FAILED', `no connection to ${url.host}: ${errorMessage(error)}`, {
        hint: 'is the server up, does UDP get through, and is its certificate accepted (--insecure, --ca, --certificate-hash)?',
        cause: error,
      });
    },
  );
}

async function join(client: Http3Client, url: URL, options: WatchOptions): Promise<WatchedChannel> {
  const { watchChannel } = await loadNativeModule();
  return watchChannel(client, {
    path: url.pathname + url.search,
    authority: url.host,
    joins: !options.unicast,
    ...(options.source && { sources: options.source }),
    ...(options.interface !== undefined && { interface: options.interface }),
  }).catch((error: unknown) => {
    throw new UserError('REQUEST_FAILED', `${url.href} cannot be watched: ${errorMessage(error)}`, {
      hint: 'does a route with `channel` have this path, and may this client join?',
      cause: error,
    });
  });
}

/** Where a publication goes, and whether files of a directory are taken there, or other bytes */
interface Target {
  sink: BodySink;
  directory: boolean;
}

interface Received {
  bytes: number;
  sha256: string;
}

/** Receives one publication from its start to its end. @throws UserError when a part of it is missing */
async function receive(channel: WatchedChannel, target: Target, reportTo: World | undefined): Promise<Received> {
  const stopReports = reportTo ? report(channel, reportTo) : () => undefined;
  const hash = createHash('sha256');
  const parts = new OrderedParts(channel);
  let bytes = 0;
  try {
    // Whoever joins in the middle of a publication waits for the next one, which begins with offset 0.
    for (let part = await parts.next(0); part; part = await parts.next(bytes)) {
      if (part.head.directory !== target.directory) throw otherKind(part.head);
      for await (const piece of part.bytes) {
        hash.update(piece);
        bytes += piece.length;
        await target.sink(piece);
      }
      if (!part.head.end) continue;
      const sha256 = hash.digest('hex');
      if (part.head.end.sha256 !== sha256) throw incomplete('its hash differs');
      channel.leave();
      return { bytes, sha256 };
    }
    throw incomplete('the channel ended');
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw incomplete(errorMessage(error), systemErrorCode(error) === undefined ? error : undefined);
  } finally {
    stopReports();
  }
}

const incomplete = (reason: string, cause?: unknown): UserError =>
  new UserError('CHANNEL_INCOMPLETE', `the publication did not arrive as a whole: ${reason}`, {
    hint: 'with --report, `expired` and `lost` tell how much was lost on the way',
    ...(cause === undefined ? {} : { cause }),
  });

const otherKind = ({ name, directory }: PartHead): UserError =>
  new UserError('USAGE', `the publication ${JSON.stringify(name)} is ${directory ? 'a directory' : 'no directory'}`, {
    hint: directory ? 'name one with --output, with / at its end' : 'name a file with --output, or leave it out',
  });

/** Shares of lost packets in those of the group, before and after repairs, and of copies in all packets */
function sharesOf({ fromGroup, fromUnicast, recovered, lost }: ChannelCounts) {
  const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
  return {
    loss: share(lost, fromGroup + lost),
    lossAfterRepairs: share(lost - recovered, fromGroup + lost),
    unicastShare: share(fromUnicast, fromGroup + fromUnicast + recovered),
  };
}

/** Prints what happens to a channel. Returns a function that stops this. */
function report(channel: WatchedChannel, world: World): () => void {
  const print = (more: object): void => {
    const counts = channel.status();
    const { state, joinDelayMs } = channel;
    void printNotice(
      world.stderr,
      JSON.stringify({ state, joinDelayMs, ...more, ...counts, ...(counts && sharesOf(counts)) }),
    );
  };
  channel.on('state', (_state, joinError) => print(joinError === '' ? {} : { joinError }));
  const timer = setInterval(() => print({}), reportInterval);
  return () => {
    clearInterval(timer);
    print({});
  };
}
