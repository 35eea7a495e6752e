import { get } from 'node:http';
import { errorMessage, exitCodes, formatAddress, loadConfiguration, UserError, type GatewayStatus } from '@sheaf/gateway';
import type { Command } from '../command.js';
import { renderTable } from '../table.js';
import { printLine } from '../world.js';
import { shownPath } from './check.js';

interface StatusOptions {
  file: string;
  admin: string | undefined;
  json: boolean;
}

/** The gateway is on this machine as a rule: an answer takes milliseconds. */
const timeoutMs = 5_000;

export const status: Command<StatusOptions> = {
  usage: 'status [file]',
  summary: 'Show what a running gateway is doing',
  options: (yargs) =>
    yargs
      .positional('file', { type: 'string', default: 'sheaf.yaml', describe: 'Configuration file, for its `admin` address' })
      .option('admin', { type: 'string', requiresArg: true, describe: 'Admin address instead, such as 127.0.0.1:9433' })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON' })
      .example('$0 status', 'Of the gateway that ./sheaf.yaml describes')
      .example('$0 status --admin 127.0.0.1:9433 --json', 'For scripts'),
  async run({ file, admin, json }, world) {
    const address = admin ?? (await configuredAdmin(shownPath(file, world.cwd)));
    const text = await getText(`http://${address}/status`, address);
    const parsed = JSON.parse(text) as GatewayStatus;
    await printLine(world.stdout, json ? JSON.stringify(parsed) : renderStatus(parsed));
    return exitCodes.success;
  },
};

async function configuredAdmin(file: string): Promise<string> {
  const { node } = await loadConfiguration(file);
  if (node.admin) return formatAddress(node.admin);
  throw new UserError('ADMIN_UNREACHABLE', `${file} has no \`admin\` address`, { hint: 'add `admin: 127.0.0.1:9433` and restart the gateway' });
}

function getText(url: string, address: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown): void =>
      reject(new UserError('ADMIN_UNREACHABLE', `no gateway answers on ${address} (${errorMessage(cause)})`, { hint: 'start it with `sheaf up`, or name its address with --admin', cause }));
    if (!URL.canParse(url)) return refuse(new Error('not an address'));
    const request = get(url, { timeout: timeoutMs }, (response) => {
      response.setEncoding('utf8');
      let text = '';
      response.on('data', (chunk: string) => (text += chunk));
      response.once('error', refuse);
      response.once('end', () => (response.statusCode === 200 ? resolve(text) : refuse(new Error(`status ${response.statusCode}`))));
    });
    request.once('timeout', () => request.destroy(new Error('timeout'))).once('error', refuse);
  });
}

export function renderStatus(status: GatewayStatus): string {
  const { transport, certificate } = status;
  const facts: [string, string][] = [
    ['state', `${status.state} for ${formatSeconds(status.uptimeSeconds)} (pid ${status.pid}, version ${status.version})`],
    ['listen', `${status.listen} (${status.alpn.join(', ')})`],
    ['certificate', `${certificate.development ? 'development' : 'from files'}, until ${certificate.expiry}, sha256 ${certificate.sha256}`],
    ['requests', `${status.requestsTotal} answered, ${status.requestsActive} under way`],
    ['connections', `${transport?.connectionsOpenGauge ?? 0} QUIC, ${status.tcpConnections} TCP, ${status.webTransportSessions} WebTransport sessions`],
  ];
  if (transport) facts.push(['UDP', `${transport.bytesReceived} bytes received, ${transport.bytesSent} sent, ${transport.packetsLost} packets lost`]);
  const routes = status.routes.map(({ route, target, upstreams }) => [route, target, upstreams?.map(upstreamHealth).join('\n') ?? '']);
  const sections = [renderTable(['', ''], facts).replace(/^\s*\n/, ''), renderTable(['route', 'target', 'health'], routes)];
  if (status.connections.length > 0) {
    sections.push(renderTable(['connection', 'protocol', 'state', 'age', 'streams'], status.connections.map(connectionRow)));
    sections.push(renderTable(['connection', 'path', 'state', 'local', 'remote', 'rtt', 'lost', 'window', 'sent', 'received'], status.connections.flatMap(pathRows)));
  }
  return sections.join('\n\n');
}

type Upstream = NonNullable<GatewayStatus['routes'][number]['upstreams']>[number];

function upstreamHealth({ origin, up, since, reason }: Upstream): string {
  const duration = since === undefined ? '' : ` for ${formatSeconds((Date.now() - Date.parse(since)) / 1_000)}`;
  return `${origin} ${up ? 'up' : 'down'}${duration}${reason === undefined ? '' : `: ${reason}`}`;
}

type Connection = GatewayStatus['connections'][number];

const shortId = ({ id }: Connection): string => id.slice(0, 16);

function connectionRow(connection: Connection): (string | number)[] {
  return [shortId(connection), connection.alpn, connection.state, formatSeconds(connection.ageMs / 1_000), `${connection.streamsOpen}/${connection.streamsTotal}`];
}

function pathRows(connection: Connection): (string | number)[][] {
  return connection.paths.map((path) => [
    shortId(connection),
    path.id,
    path.status === 'backup' || path.peerStatus === 'backup' ? `${path.state}, backup` : path.state,
    formatAddress(path.local),
    formatAddress(path.remote),
    `${path.smoothedRttMs.toFixed(1)} ms`,
    `${path.packetsLost}/${path.packetsSent}`,
    path.congestionWindow,
    path.bytesSent,
    path.bytesReceived,
  ]);
}

function formatSeconds(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}
