import { closest, formatAddress, loadConfiguration, startNodes, UserError, version, type ListenAddress, type LoadedConfiguration, type LoadedNode, type RunningNode } from '@sheaf/gateway';
import type { Command } from '../command.js';
import { serveUntilSignal } from '../serve.js';
import { printNotice, type World } from '../world.js';
import { shownPath } from './check.js';

interface UpOptions {
  file: string;
  node: string | undefined;
}

export const up: Command<UpOptions> = {
  usage: 'up [file]',
  summary: 'Run the nodes that a configuration file describes',
  options: (yargs) =>
    yargs
      .positional('file', { type: 'string', default: 'sheaf.yaml', describe: 'Configuration file' })
      .option('node', { type: 'string', requiresArg: true, describe: 'Run only the node of this name' })
      .example('$0 up sheaf.yaml', 'Serve until Ctrl-C; a second Ctrl-C ends at once')
      .example('$0 up sheaf.yaml --node laptop', 'Run one of several nodes')
      .example('SSLKEYLOGFILE=keys.txt $0 up', 'Write TLS secrets for Wireshark'),
  async run({ file, node }, world) {
    const started = performance.now();
    const loaded = await loadConfiguration(shownPath(file, world.cwd));
    const wanted = node === undefined ? loaded.nodes : [nodeOf(loaded, node, file)];
    const keyLog = world.env['SSLKEYLOGFILE'];
    const nodes = await startNodes(wanted, keyLog === undefined || keyLog === '' ? {} : { keyLog });
    world.outliveOutput();
    await announceReady(performance.now() - started, world, loaded.named ? nodes : []);
    for (const running of nodes) await announceNode(running, world);
    return serveUntilSignal(nodes, world);
  },
};

/** @throws UserError */
export function nodeOf({ nodes }: LoadedConfiguration, name: string, file: string): LoadedNode {
  const node = nodes.find((candidate) => candidate.name === name);
  if (node) return node;
  const names = nodes.map((candidate) => candidate.name);
  const meant = closest(name, names);
  const known = names.length === 1 ? `its only node is \`${names.join()}\`` : `its nodes: ${names.map((item) => `\`${item}\``).join(', ')}`;
  throw new UserError('NODE_UNKNOWN', `${file} has no node \`${name}\``, { hint: meant === undefined || names.length === 1 ? known : `did you mean \`${meant}\`?` });
}

/** The first line says `ready`: scripts wait for it. It names the nodes of a file that has names for them. */
export async function announceReady(milliseconds: number, world: World, named: readonly RunningNode[] = []): Promise<void> {
  const names = named.map(({ name, role }) => `${name} (${role})`).join(', ');
  await printNotice(world.stdout, `sheaf ${version} ready in ${Math.round(milliseconds)} ms${names === '' ? '' : `: ${names}`}`);
}

/** Where a node is found, and what to do next. */
export async function announceNode(node: RunningNode, world: World, next?: string): Promise<void> {
  const { address, httpAddress, adminAddress, warnings } = node;
  const url = browserUrl('https', address);
  await printNotice(world.stdout, `  ${url}  HTTP/3 and WebTransport (UDP), HTTP/2 and HTTP/1.1 (TCP)`);
  if (node.publicUrl) await printNotice(world.stdout, `  ${node.publicUrl}  where clients find it`);
  if (httpAddress) await printNotice(world.stdout, `  ${browserUrl('http', httpAddress)}  HTTP/1.1 without TLS`);
  if (adminAddress) await printNotice(world.stdout, `  ${browserUrl('http', adminAddress)}  /healthz /readyz /metrics /status`);
  const insecure = node.certificate.isDevelopment ? ' --insecure' : '';
  await printNotice(world.stdout, `  next: ${next ?? `sheaf fetch ${url}${insecure}`}`);
  for (const warning of warnings) await printNotice(world.stderr, `warning: ${warning}`);
}

/** A URL that a browser on this machine can open. */
export function browserUrl(scheme: 'http' | 'https', { address, port }: ListenAddress): string {
  const host = address === '::' || address === '0.0.0.0' ? '127.0.0.1' : address;
  return `${scheme}://${formatAddress({ address: host, port })}/`;
}

