import {
  exitCodes,
  formatAddress,
  remediesFor,
  UserError,
  type BackendReport,
  type ChannelStatus,
  type EdgeMediaStatus,
  type ForwardingStatus,
  type FrontNodeStatus,
  type GatewayBackend,
  type GatewayLinkStatus,
  type NodeStatus,
  type ReturnStatus,
  type RouteStatus,
} from '@sheaf/gateway';
import { askAdmin } from '../admin.js';
import { adminInstead, fileWithAdmin } from '../admin_options.js';
import type { Command } from '../command.js';
import { configuredAdmins } from '../configured_admins.js';
import { registryFacts, renderFleet } from '../render_registry.js';
import { renderListeners, renderTcpTunnels, renderTunnels } from '../render_tunnels.js';
import { renderTable } from '../table.js';
import { printLine } from '../world.js';

interface StatusOptions {
  file: string;
  admin: string | undefined;
  node: string | undefined;
  json: boolean;
}

export const status: Command<StatusOptions> = {
  usage: 'status [file]',
  summary: 'Show what running nodes are doing',
  options: (yargs) =>
    yargs
      .positional('file', { ...fileWithAdmin, describe: 'Configuration file with the `admin` addresses' })
      .option('admin', adminInstead)
      .option('node', { type: 'string', requiresArg: true, describe: 'Show only the node of this name' })
      .option('json', { type: 'boolean', default: false, describe: 'Print JSON, one line per node' })
      .example('$0 status', 'Show the nodes of ./sheaf.yaml')
      .example('$0 status --admin 127.0.0.1:9433 --json', 'Print JSON for scripts'),
  async run({ file, admin, node, json }, world) {
    const addresses = admin === undefined ? await configuredAdmins(file, node, world.cwd) : [admin];
    for (const [index, address] of addresses.entries()) {
      const parsed = await statusAt(address);
      if (index > 0 && !json) await printLine(world.stdout, '');
      await printLine(world.stdout, json ? JSON.stringify(parsed) : renderStatus(parsed));
    }
    return exitCodes.success;
  },
};

async function statusAt(address: string): Promise<NodeStatus> {
  const { status: code, text } = await askAdmin(address, '/status');
  if (code === 200) return JSON.parse(text) as NodeStatus;
  throw new UserError('ADMIN_UNREACHABLE', `no gateway answers on ${address} (status ${code})`, {
    hint: 'start it with `sheaf up`, or name its address with --admin',
  });
}

/** Returns a part as a percentage; nothing of nothing is empty. */
const share = (part: number, whole: number): string => (whole === 0 ? '' : `${((100 * part) / whole).toFixed(1)} %`);

function renderChannels(channels: readonly ChannelStatus[]): string {
  const rows = channels.map((channel) => {
    const { name, group, receivers, receiving, packets, repairs, copies, received, lost, recovered, unsent } = channel;
    return [
      name,
      group ? formatAddress(group) : 'copies alone',
      ...[receivers, receiving, packets, repairs].map(String),
      share(lost, received + lost),
      share(lost - recovered, received + lost),
      share(copies, received + recovered + copies),
      channel.joins === 0 ? '' : `${Math.round((1_000 * channel.joinSeconds) / channel.joins)} ms`,
      String(unsent),
    ];
  });
  const held = channels.map(
    ({ name, group, rate, feedsGroup, groupPauses, heldOnCopies, waitingForCopies, networksHeldDown }) => [
      name,
      group ? `${Math.round(rate / 1_000)}KB/s` : '',
      group ? `${feedsGroup ? 'yes' : 'no'}, ${groupPauses} pauses` : '',
      ...[heldOnCopies, waitingForCopies, networksHeldDown].map(String),
    ],
  );
  const losses = ['lost', 'after repairs', 'by copies', 'join delay'];
  return [
    renderTable(['channel', 'group', 'receivers', 'of group', 'packets', 'repairs', ...losses, 'not sent'], rows),
    renderTable(['channel', 'rate', 'group fed', 'held on copies', 'waiting for copies', 'networks held down'], held),
  ].join('\n\n');
}

function renderEdgeMedia(media: readonly EdgeMediaStatus[]): string {
  const rows = media.map(({ route, channel, state, reason, broadcasts, viewers, unicastShare, lost, expired }) => [
    route,
    channel,
    state === 'waiting' && reason !== undefined ? `${state}: ${reason}` : state,
    broadcasts,
    viewers,
    `${Math.round(unicastShare * 100)} %`,
    lost,
    expired,
  ]);
  return renderTable(
    ['media', 'channel', 'state', 'broadcasts', 'viewers', 'by unicast', 'missing', 'lost for good'],
    rows,
  );
}

export function renderStatus(status: NodeStatus): string {
  const facts: [string, string][] = [
    ['node', `${status.node} (${status.role})`],
    [
      'state',
      `${status.state} for ${formatSeconds(status.uptimeSeconds)} (pid ${status.pid}, version ${status.version})`,
    ],
    ...configurationFacts(status),
    ...upgradeFacts(status),
    ...(status.registry ? registryFacts(status.registry) : []),
    ...(status.role === 'tunnel' ? [] : frontFacts(status)),
    ...roleFacts(status),
  ];
  const table = renderTable(['', ''], facts).replace(/^\s*\n/, '');
  const fleet = status.registry ? [renderFleet(status.registry)] : [];
  const fronts = status.role === 'tunnel' ? [] : [...workerSections(status), ...clientSections(status)];
  return [table, ...fleet, ...roleSections(status), ...fronts].join('\n\n');
}

/** Which configuration is in use, and whether a later one was refused */
function configurationFacts({ configuration }: NodeStatus): [string, string][] {
  if (!configuration) return [];
  const { version, source, since, refused } = configuration;
  return [
    ['configuration', `${version.slice(0, 12)} of ${source}, since ${since}`],
    ...(refused ? [['refused', `at ${refused.at}: ${refused.code}, ${refused.message}`] as [string, string]] : []),
  ];
}

/** Which upgrades led to this process, and whether the latest one failed */
function upgradeFacts({ upgrade }: NodeStatus): [string, string][] {
  if (!upgrade) return [];
  const { generation, predecessors, refused } = upgrade;
  const earlier = `${predecessors} earlier process${predecessors === 1 ? ' has' : 'es have'} connections`;
  return [
    ...(generation === 0 ? [] : [['upgrades', `${generation}, ${earlier}`] as [string, string]]),
    ...(refused
      ? [['upgrade', `failed at ${refused.at}: ${refused.code}, ${refused.message}`] as [string, string]]
      : []),
  ];
}

function frontFacts(status: FrontNodeStatus): [string, string][] {
  const { transport, certificate } = status;
  return [
    ['listen', `${status.listen} (${status.alpn.join(', ')})`],
    [
      'certificate',
      `${certificate.development ? 'development' : 'from files'}, until ${certificate.expiry}, sha256 ${certificate.sha256}`,
    ],
    ['requests', `${status.requestsTotal} answered, ${status.requestsActive} in flight`],
    [
      'connections',
      `${transport?.connectionsOpenGauge ?? 0} QUIC, ${status.tcpConnections} TCP, ${status.webTransportSessions} WebTransport sessions`,
    ],
    ...(transport
      ? [
          [
            'UDP',
            `${transport.bytesReceived} bytes received, ${transport.bytesSent} sent, ${transport.packetsLost} packets lost`,
          ] as [string, string],
        ]
      : []),
  ];
}

function roleFacts(status: NodeStatus): [string, string][] {
  switch (status.role) {
    case 'gateway':
      return [];
    case 'edge':
    case 'tunnel':
      return [['gateway', describeLink(status.gateway)]];
    case 'backend':
      return [
        [
          'primary',
          `${status.primary.name}, ${status.primary.connected ? 'connected' : 'not connected'}; ${status.guests} of its connections here${status.serving ? '' : ', draining'}`,
        ],
        ...(status.return ? [['return', describeReturn(status.return)] as [string, string]] : []),
      ];
  }
}

function roleSections(status: NodeStatus): string[] {
  switch (status.role) {
    case 'gateway': {
      const { routes, channels, tunnels, tcpTunnels, backends } = status;
      return [
        renderRoutes(routes),
        ...(channels ? [renderChannels(channels)] : []),
        ...(tunnels ? [renderTunnels(tunnels)] : []),
        ...(tcpTunnels ? [renderTcpTunnels(tcpTunnels)] : []),
        ...(backends ? [renderBackends(backends), ...returnedResponses(backends)] : []),
      ];
    }
    case 'backend':
      return [renderRoutes(status.routes)];
    case 'edge':
      return [...(status.media ? [renderEdgeMedia(status.media)] : []), ...renderLink(status.gateway)];
    case 'tunnel':
      return [
        renderListeners(status.listeners),
        renderTunnels(status.tunnels),
        renderTcpTunnels(status.tcpTunnels),
        ...renderLink(status.gateway),
      ];
  }
}

/** Renders the connections to a gateway, while there are some. */
function renderLink({ connections }: GatewayLinkStatus): string[] {
  if (connections.length === 0) return [];
  const rows = connections.flatMap(pathRows);
  return [renderTable(['to the gateway', ...pathColumns], rows), ...connectionBackends(connections)];
}

/** Renders the threads that serve clients, if there are several. */
function workerSections({ workers, steering, forwarding }: FrontNodeStatus): string[] {
  if (!workers) return [];
  const rows = workers.map(({ worker, state, since, restarts, reason, datagrams, ...now }) => [
    worker,
    `${state} for ${formatSeconds((Date.now() - Date.parse(since)) / 1_000)}`,
    ...[now.requestsActive, now.quicConnections, now.tcpConnections].map((count) => count ?? ''),
    `${datagrams.passedOn}/${datagrams.taken}/${datagrams.lost}`,
    `${restarts}${reason === undefined ? '' : `: ${reason}`}`,
  ]);
  const columns = ['worker', 'state', 'requests', 'QUIC', 'TCP', 'passed on/taken/lost', 'replaced'];
  return [
    `${renderTable(columns, rows)}\nUDP datagrams reach workers by ${steering === 'ids' ? 'connection ids' : 'addresses'}`,
    ...(forwarding ? [renderForwarding(forwarding)] : []),
  ];
}

/** Renders what a machine of a fleet passed on to others. */
function renderForwarding({ listen, machines, lostMachines, ...counts }: ForwardingStatus): string {
  const columns = ['link between machines', 'others', 'passed on', 'taken', 'lost', 'refused'];
  const others = lostMachines > 0 ? `${machines}, ${lostMachines} of them gone` : machines;
  return renderTable(columns, [[listen, others, counts.sent, counts.received, counts.dropped, counts.refused]]);
}

/** Renders the connections of clients, if there are any. */
function clientSections({ connections }: FrontNodeStatus): string[] {
  if (connections.length === 0) return [];
  return [
    renderTable(['connection', 'protocol', 'state', 'age', 'streams'], connections.map(connectionRow)),
    renderTable(['connection', ...pathColumns], connections.flatMap(pathRows)),
    ...connectionBackends(connections),
  ];
}

function renderRoutes(routes: readonly RouteStatus[]): string {
  return renderTable(
    ['route', 'target', 'health'],
    routes.map(({ route, target, upstreams }) => [route, target, upstreams?.map(upstreamHealth).join('\n') ?? '']),
  );
}

function renderBackends(backends: readonly BackendReport[]): string {
  const rows = backends.map(
    ({
      name,
      id,
      addresses,
      state,
      backbone,
      connections,
      load,
      requestsActive,
      proxied,
      bytesSent,
      bytesReceived,
    }) => [
      name,
      id,
      addresses.join('\n'),
      state,
      describeBackbone(backbone),
      connections,
      `${Math.round(load * 100)} %`,
      requestsActive,
      proxied,
      bytesSent,
      bytesReceived,
    ],
  );
  return renderTable(
    ['backend', 'id', 'address', 'state', 'backbone', 'connections', 'load', 'requests', 'proxied', 'sent', 'received'],
    rows,
  );
}

function describeBackbone({ state, reason, rttMs = 0 }: BackendReport['backbone']): string {
  if (state === 'open') return `${rttMs.toFixed(1)} ms`;
  return reason === undefined ? state : `${state}: ${reason}`;
}

/** Renders how responses travelled, if a backend may send from the gateway's address. */
function returnedResponses(backends: readonly GatewayBackend[]): string[] {
  if (!backends.some(({ returns, runs }) => returns && runs)) return [];
  const rows = backends.map(
    ({ name, returns, runs, returning, deliveries: { responses, lost, fallbacks, ownRecovery, returnedBytes } }) => [
      name,
      runs && returns ? describeBackbone(runs) : 'no `return`',
      returning,
      responses.return ?? 0,
      ownRecovery,
      returnedBytes,
      byReason(lost),
      byReason(fallbacks),
    ],
  );
  const table = renderTable(
    ['return', 'runs', 'now', 'responses', 'own recovery', 'bytes', 'not to the end', 'proxied instead'],
    rows,
  );
  const reasons = backends.flatMap(({ deliveries: { lost, fallbacks } }) => Object.keys({ ...lost, ...fallbacks }));
  const remedies = remediesFor(new Set(reasons)).map(({ reason, fix }) => `${reason}: ${fix}`);
  return remedies.length === 0 ? [table] : [table, remedies.join('\n')];
}

/** Renders counts, the largest first: `12: http-version 10, small 2`. */
function byReason(counts: Readonly<Record<string, number>>): string {
  const reasons = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one);
  const total = reasons.reduce((sum, [, count]) => sum + count, 0);
  return total === 0 ? '0' : `${total}: ${reasons.map(([reason, count]) => `${reason} ${count}`).join(', ')}`;
}

function describeReturn({ from, via, recovery, sessions, grants, packets, bytes, refused }: ReturnStatus): string {
  const gateways = `${sessions} ${sessions === 1 ? 'gateway' : 'gateways'} connected`;
  return `from ${from.join(', ')} (${via}), recovery by the ${recovery}, ${gateways}; ${grants} responses now; ${packets} packets with ${bytes} bytes sent; runs refused ${byReason(refused)}`;
}

/** Renders the backends of the connections that have any. */
function connectionBackends(connections: readonly Connection[]): string[] {
  const rows = connections.flatMap((connection) =>
    (connection.backends ?? []).map(
      ({ backend, path, address, port, state, smoothedRttMs, lease, bytesSent, bytesReceived }) => [
        shortId(connection),
        backend,
        path,
        formatAddress({ address, port }),
        state,
        smoothedRttMs > 0 ? `${smoothedRttMs.toFixed(1)} ms` : '',
        lease ? `${lease.granted - lease.returned}${lease.left === undefined ? '' : `, ${lease.left} left`}` : '',
        bytesSent,
        bytesReceived,
      ],
    ),
  );
  return rows.length === 0
    ? []
    : [renderTable(['connection', 'backend', 'path', 'address', 'state', 'rtt', 'lease', 'sent', 'received'], rows)];
}

function describeLink({ address, state, reason, opened, connections }: GatewayLinkStatus): string {
  const ages = connections.map(
    ({ ageMs, streamsOpen, streamsTotal }) =>
      ` for ${formatSeconds(ageMs / 1_000)}, ${streamsOpen}/${streamsTotal} streams`,
  );
  const count = `, ${opened} ${opened === 1 ? 'connection' : 'connections'} so far`;
  return `${address}, ${state}${ages.join(';')}${count}${reason === undefined ? '' : `; ${reason}`}`;
}

const pathColumns = ['path', 'state', 'local', 'remote', 'rtt', 'lost', 'window', 'sent', 'received'];

type Upstream = NonNullable<RouteStatus['upstreams']>[number];

function upstreamHealth({ origin, up, since, reason, waiting, refused }: Upstream): string {
  const duration = since === undefined ? '' : ` for ${formatSeconds((Date.now() - Date.parse(since)) / 1_000)}`;
  const queue = waiting + refused === 0 ? '' : `, ${waiting} requests waiting, ${refused} refused`;
  return `${origin} ${up ? 'up' : 'down'}${duration}${reason === undefined ? '' : `: ${reason}`}${queue}`;
}

type Connection = FrontNodeStatus['connections'][number];

const shortId = ({ id }: Connection): string => id.slice(0, 16);

function connectionRow(connection: Connection): (string | number)[] {
  return [
    shortId(connection),
    connection.alpn,
    connection.state,
    formatSeconds(connection.ageMs / 1_000),
    `${connection.streamsOpen}/${connection.streamsTotal}`,
  ];
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
