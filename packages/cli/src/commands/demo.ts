import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  browserUrl,
  exitCodes,
  Gateway,
  onlyGateway,
  parseConfiguration,
  UserError,
  type ListenAddress,
} from '@sheaf/gateway';
import { announceNode, announceReady } from '../announce.js';
import type { Command } from '../command.js';
import { demoConfiguration } from '../demo/configuration.js';
import { MultiEndSite } from '../demo/multi_end_site.js';
import { printReport } from '../demo/print_report.js';
import { serveLive } from '../demo/serve_live.js';
import { demoSite, multiEndFiles, startUploadServer } from '../demo/site.js';
import { withSite } from '../demo/with_site.js';
import { loadExperiments, type ExperimentsPackage } from '../experiments.js';
import { publicKeyHash } from '../public_key_hash.js';
import { serveUntilSignal } from '../serve.js';
import { printLine, type World } from '../world.js';

interface DemoOptions {
  port: number | undefined;
  'http-port': number | undefined;
  site: 'page' | 'multi-end' | 'live';
  once: boolean;
  /** File for the report; an empty string means standard output */
  json: string | undefined;
}

/** Ports that are easy to remember. `--once` uses free ports, so that runs do not collide. */
const defaultPort = 4433;
const defaultHttpPort = 8080;

export const demo: Command<DemoOptions> = {
  usage: 'demo',
  summary: 'Serve the demo site; with --once load it in Chromium over every transport',
  options: (yargs) =>
    yargs
      .option('site', {
        choices: ['page', 'multi-end', 'live'] as const,
        default: 'page' as const,
        describe:
          'Serve a page of many resources, a picture from three backends that you can stop, or live video by multicast whose tree you can cut',
      })
      .option('port', {
        type: 'number',
        requiresArg: true,
        describe: `UDP and TCP port (default: ${defaultPort}; with --once a free one)`,
      })
      .option('http-port', {
        type: 'number',
        requiresArg: true,
        describe: `Port without TLS (default: ${defaultHttpPort}; with --once a free one)`,
      })
      .option('once', {
        type: 'boolean',
        default: false,
        describe: 'Load the page, or publish and watch, in a headless Chromium, report, and end',
      })
      .option('json', {
        type: 'string',
        describe: 'Report as JSON on one line, to standard output or with --json=FILE to a file (with --once)',
      })
      .example('$0 demo', 'Serve until Ctrl-C, and open the printed address in a browser')
      .example('$0 demo --site multi-end', 'Run a gateway, an edge and three backends, and stop one in the browser')
      .example('$0 demo --site live', 'Publish a clock in one page, watch it in another, and cut the tree between them')
      .example('$0 demo --once --json', 'Load the page over WebTransport, HTTP/3 and TCP, and print the result'),
  async run({ port, 'http-port': httpPort, site, once, json }, world) {
    const ports = { port: port ?? (once ? 0 : defaultPort), httpPort: httpPort ?? (once ? 0 : defaultHttpPort) };
    if (site === 'multi-end') {
      if (once)
        throw new UserError('USAGE', '--once goes with the sites `page` and `live`', {
          hint: 'leave out --site or --once',
        });
      return serveMultiEnd(ports, world);
    }
    if (json !== undefined && !once) throw new UserError('USAGE', '--json goes with --once', { hint: 'add --once' });
    if (site === 'live') return serveLive({ ...ports, once, json }, world);
    const experiments = once ? await loadExperiments('sheaf demo --once', world) : undefined;
    const started = performance.now();
    const directory = await mkdtemp(join(tmpdir(), 'sheaf-demo-'));
    const uploads = await startUploadServer();
    try {
      const configuration = demoConfiguration({
        ...ports,
        uploads: uploads.origin,
        site: await demoSite(world.stderr),
        log: join(directory, 'gateway.log'),
      });
      const gateway = await Gateway.start(
        onlyGateway(parseConfiguration(configuration, join(directory, 'sheaf.yaml'))),
      );
      try {
        if (experiments) return await loadOnce(experiments, gateway, json, world);
        const start = gateway.httpAddress
          ? `open ${localUrl(gateway.httpAddress)}.well-known/sheaf/start in a browser on this machine`
          : '';
        const announce = async (): Promise<void> => {
          await announceReady(performance.now() - started, world);
          await announceNode(gateway, world, start);
        };
        return await serveUntilSignal([gateway], world, { announce });
      } finally {
        await gateway.close(0);
      }
    } finally {
      await uploads.close();
      await rm(directory, { recursive: true, force: true });
    }
  },
};

/** Serves the page of several servers, whose backends run in processes of their own. */
async function serveMultiEnd(ports: { port: number; httpPort: number }, world: World): Promise<number> {
  const started = performance.now();
  const files = await multiEndFiles(world.stderr);
  return withSite(
    (directory) => new MultiEndSite({ directory, files, ...ports }),
    (site) => {
      const announce = async (): Promise<void> => {
        const { edge } = site;
        await announceReady(performance.now() - started, world);
        await announceNode(
          edge,
          world,
          edge.httpAddress ? `open ${localUrl(edge.httpAddress)} in a browser on this machine` : undefined,
        );
        await printLine(world.stdout, directReturn(site));
      };
      return serveUntilSignal(site.nodes, world, { announce });
    },
  );
}

/** Says how a browser becomes a client of the gateway itself, whose backends answer from the address of the gateway. */
function directReturn({ gateway, gatewayAddress }: MultiEndSite): string {
  const { port } = gatewayAddress;
  const flags = [
    `--origin-to-force-quic-on=127.0.0.1:${port}`,
    `--ignore-certificate-errors-spki-list=${publicKeyHash(gateway.certificate.pair.certificate)}`,
    '--user-data-dir=/tmp/sheaf-demo-browser',
  ];
  return `direct server return: chromium ${flags.join(' ')} https://127.0.0.1:${port}/`;
}

/** Returns a URL with `localhost`, which is a secure context without TLS. An address might not be. */
function localUrl(address: ListenAddress): string {
  return browserUrl('http', address).replace('127.0.0.1', 'localhost');
}

async function loadOnce(
  { runBrowserDemo }: ExperimentsPackage,
  gateway: Gateway,
  json: string | undefined,
  world: World,
): Promise<number> {
  if (!gateway.httpAddress) throw new Error('the demo always has an address without TLS');
  const report = await runBrowserDemo({
    httpsUrl: browserUrl('https', gateway.address),
    httpUrl: localUrl(gateway.httpAddress),
    publicKeyHash: publicKeyHash(gateway.certificate.pair.certificate),
    progress: world.stderr,
    screenshots: join(world.cwd, '.sheaf', 'demo'),
  });
  await printReport(report, json, world);
  if (!report.ok)
    throw new UserError('DEMO_FAILED', 'the browser did not load the demo page over every transport', {
      hint: 'the report says which one failed',
    });
  return exitCodes.success;
}
