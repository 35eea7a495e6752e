import { formatAddress, Gateway, loadConfiguration, UserError, version, type ListenAddress } from '@sheaf/gateway';
import type { Command } from '../command.js';
import { serveUntilSignal } from '../serve.js';
import { printLine, type World } from '../world.js';
import { shownPath } from './check.js';

interface UpOptions {
  file: string;
  node: string | undefined;
}

/** The name of the one node that a file describes today. */
const nodeName = 'gateway';

export const up: Command<UpOptions> = {
  usage: 'up [file]',
  summary: 'Run the gateway that a configuration file describes',
  options: (yargs) =>
    yargs
      .positional('file', { type: 'string', default: 'sheaf.yaml', describe: 'Configuration file' })
      .option('node', { type: 'string', requiresArg: true, describe: 'Run only the node of this name' })
      .example('$0 up sheaf.yaml', 'Serve until Ctrl-C; a second Ctrl-C ends at once')
      .example('SSLKEYLOGFILE=keys.txt $0 up', 'Write TLS secrets for Wireshark'),
  async run({ file, node }, world) {
    const started = performance.now();
    const loaded = await loadConfiguration(shownPath(file, world.cwd));
    if (node !== undefined && node !== nodeName) {
      throw new UserError('NODE_UNKNOWN', `${file} has no node \`${node}\``, { hint: `its only node is \`${nodeName}\`` });
    }
    const keyLog = world.env['SSLKEYLOGFILE'];
    const gateway = await Gateway.start(loaded, keyLog === undefined || keyLog === '' ? {} : { keyLog });
    await announce(gateway, performance.now() - started, world);
    return serveUntilSignal(gateway, world);
  },
};

/** The first line says `ready`: scripts wait for it. */
export async function announce(gateway: Gateway, milliseconds: number, world: World, next?: string): Promise<void> {
  const { address, httpAddress, adminAddress, warnings } = gateway;
  const url = browserUrl('https', address);
  await printLine(world.stdout, `sheaf ${version} ready in ${Math.round(milliseconds)} ms`);
  await printLine(world.stdout, `  ${url}  HTTP/3 and WebTransport (UDP), HTTP/2 and HTTP/1.1 (TCP)`);
  if (httpAddress) await printLine(world.stdout, `  ${browserUrl('http', httpAddress)}  HTTP/1.1 without TLS`);
  if (adminAddress) await printLine(world.stdout, `  ${browserUrl('http', adminAddress)}  /healthz /readyz /metrics /status`);
  const insecure = gateway.certificate.isDevelopment ? ' --insecure' : '';
  await printLine(world.stdout, `  next: ${next ?? `sheaf fetch ${url}${insecure}`}`);
  for (const warning of warnings) await printLine(world.stderr, `warning: ${warning}`);
}

/** A URL that a browser on this machine can open. */
export function browserUrl(scheme: 'http' | 'https', { address, port }: ListenAddress): string {
  const host = address === '::' || address === '0.0.0.0' ? '127.0.0.1' : address;
  return `${scheme}://${formatAddress({ address: host, port })}/`;
}

