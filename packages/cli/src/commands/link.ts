import {
  errorMessage,
  exitCodes,
  formatAddress,
  listenAddress,
  listenError,
  loadNativeModule,
  systemErrorCode,
  UserError,
  type ListenAddress,
} from '@sheaf/gateway';
import type { LinkRelay, LinkRelayOptions } from '@sheaf/native';
import type { Command } from '../command.js';
import { linkOptions, type LinkFlags } from '../link/link_options.js';
import { parseDuration } from '../link/quantities.js';
import { renderLinkStats } from '../link/report.js';
import { printLine, type World } from '../world.js';

interface LinkCommandOptions extends LinkFlags {
  listen: string;
  target: string;
  seed: number;
  downAt: string[] | undefined;
  upAt: string[] | undefined;
  json: boolean;
}

export const link: Command<LinkCommandOptions> = {
  usage: 'link',
  summary: 'Relay UDP over a link with a rate, delay, loss and outages of your choice',
  options: (yargs) => {
    const perDirection = (describe: string) => ({ type: 'string', array: true, requiresArg: true, describe }) as const;
    return yargs
      .option('listen', {
        type: 'string',
        default: '127.0.0.1:0',
        requiresArg: true,
        describe: 'Listen at this address for clients; port 0 chooses a free port',
      })
      .option('target', {
        type: 'string',
        demandOption: true,
        requiresArg: true,
        describe: 'Forward to this address',
      })
      .option('rate', perDirection('Bits per second, such as 20mbit'))
      .option('trace', perDirection('Capacity trace instead: a file of millisecond timestamps, one per 1500 bytes'))
      .option('delay', perDirection('One-way delay, such as 20ms'))
      .option('jitter', perDirection('Maximum of a further random delay'))
      .option('jitter-correlation', perDirection('Share of datagrams with the jitter of the one before'))
      .option('loss', perDirection('Random loss, such as 1%'))
      .option('loss-correlation', perDirection('Share of datagrams with the fate of the one before'))
      .option('burst-loss', perDirection('Loss in bursts and their mean length, such as 2%,10'))
      .option('duplicate', perDirection('Share of datagrams that arrive twice'))
      .option('reorder', perDirection('Share of datagrams held back, and for how long, such as 1%,10ms'))
      .option('queue', perDirection('Maximum queue, such as 64KiB or 50p (packets)'))
      .option('queue-discipline', {
        ...perDirection('Rule that drops from the queue'),
        choices: ['drop-tail', 'codel'],
      })
      .option('down-at', perDirection('Take the link down at this time after the start; can be repeated'))
      .option('up-at', perDirection('Bring it back at this time; can be repeated'))
      .option('seed', { type: 'number', default: 1, requiresArg: true, describe: 'Seed of the random numbers' })
      .option('json', {
        type: 'boolean',
        default: false,
        describe: 'Print the addresses and, at the end, the statistics as JSON',
      })
      .example('$0 link --listen 127.0.0.1:5001 --target 127.0.0.1:4433 --rate 20mbit --delay 20ms', 'A plain link')
      .example('$0 link --target 127.0.0.1:4433 --rate 5mbit --rate 50mbit --queue 64KiB', 'Slow there, fast back')
      .example(
        '$0 link --target 127.0.0.1:4433 --burst-loss 2%,10 --down-at 5s --up-at 8s',
        'Bursts of loss, and an outage',
      )
      .example(
        '$0 link --target 127.0.0.1:4433 --trace lte.up --trace lte.down --queue-discipline codel',
        'A recorded cellular link',
      );
  },
  async run(options, world) {
    const listen = parseAddress('listen', options.listen);
    const target = parseAddress('target', options.target);
    if (target.port === 0 || target.address === '::')
      throw new UserError('USAGE', `--target ${options.target} is nowhere`, {
        hint: 'name an address and a port, such as 127.0.0.1:4433',
      });
    if (!Number.isSafeInteger(options.seed) || options.seed < 0)
      throw new UserError('USAGE', '--seed takes a whole number from 0', { hint: 'for example --seed 7' });
    const outages = parseOutages(options);
    const relay = await createRelay({ listen, target, ...(await linkOptions(options, world.cwd)), seed: options.seed });
    return serve(relay, { listen, target, outages, json: options.json }, world);
  },
};

/** Time when the link goes down or comes back */
interface Outage {
  atMs: number;
  down: boolean;
}

interface Service {
  listen: ListenAddress;
  target: ListenAddress;
  outages: Outage[];
  json: boolean;
}

async function serve(relay: LinkRelay, { listen, target, outages, json }: Service, world: World): Promise<number> {
  const address = bind(relay, listen);
  const timers = outages.map(({ atMs, down }) =>
    setTimeout(() => {
      relay.setDown(down);
      void printLine(world.stderr, `${atMs / 1_000} s: ${down ? 'down' : 'up'}`);
    }, atMs),
  );
  const [from, to] = [formatAddress(address), formatAddress(target)];
  let stop = (): void => undefined;
  const ended = new Promise<void>((resolve) => (stop = world.onSignal(() => resolve())));
  try {
    await printLine(
      world.stdout,
      json ? JSON.stringify({ listen: from, target: to }) : `link ready: ${from} to ${to}; Ctrl-C ends it`,
    );
    await ended;
    const stats = relay.stats();
    await printLine(world.stdout, json ? JSON.stringify(stats) : renderLinkStats(stats));
  } finally {
    stop();
    timers.forEach(clearTimeout);
    relay.close();
  }
  return exitCodes.success;
}

function parseAddress(option: string, text: string): ListenAddress {
  const parsed = listenAddress.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UserError('USAGE', `--${option}: ${parsed.error.issues[0]?.message ?? 'not an address'}`, {
    hint: `write an IP address and a port, such as --${option} 127.0.0.1:4433`,
  });
}

function parseOutages({ downAt = [], upAt = [] }: LinkCommandOptions): Outage[] {
  const outages = [
    ...downAt.map((text) => ({ atMs: parseDuration('down-at', text), down: true })),
    ...upAt.map((text) => ({ atMs: parseDuration('up-at', text), down: false })),
  ].sort((a, b) => a.atMs - b.atMs);
  if (outages[0]?.down === false)
    throw new UserError('USAGE', '--up-at comes before the link is down', {
      hint: 'name the beginning too: --down-at 5s --up-at 8s',
    });
  return outages;
}

async function createRelay(options: LinkRelayOptions): Promise<LinkRelay> {
  const { createLinkRelay } = await loadNativeModule();
  try {
    return createLinkRelay(options);
  } catch (error) {
    if (systemErrorCode(error) !== 'LINK_OPTIONS') throw error;
    throw new UserError('USAGE', `--trace: ${errorMessage(error)}`, {
      hint: 'a trace has one millisecond timestamp per line, each for 1500 bytes, in ascending order',
      cause: error,
    });
  }
}

function bind(relay: LinkRelay, listen: ListenAddress): ListenAddress {
  try {
    return relay.listen();
  } catch (error) {
    relay.close();
    throw listenError(error, listen, 'UDP');
  }
}
