import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { Gateway } from '../../src/nodes/gateway.js';
import { TunnelNode } from '../../src/nodes/tunnel/tunnel_node.js';
import type { RunningNode } from '../../src/nodes/life/running_node.js';
import { RunningConfiguration } from '../../src/nodes/reload/running_configuration.js';
import { Metrics } from '../../src/observability/metrics.js';
import { FileDriver } from '../../src/registry/file_driver.js';
import { formatSecrets, renewSecrets } from '../../src/tls/server_secrets.js';
import { freePort } from '../../src/values/free_port.js';
import type { ListenAddress } from '../../src/values/scalars.js';
import { get } from './client.js';
import { connect } from './http3_client.js';
import { logTo, startNamed } from './nodes.js';
import { openSession } from './sessions.js';
import { startTarget } from './tcp_target.js';
import { temporaryDirectory } from './temporary_directory.js';
import { mirror } from './traces.js';
import { connectTo, tunnelRoutes } from './tunnel_node.js';
import { startTarget as startUdpTarget } from './udp_target.js';

export interface ExportedMetric {
  type: string;
  /** Labels of its samples; undefined while it has none */
  labels: Set<string> | undefined;
}

/** Reads what /metrics shows. Buckets of a histogram are a metric of their own, as queries name them. */
export function readMetrics(text: string, metrics = new Map<string, ExportedMetric>()): Map<string, ExportedMetric> {
  for (const line of text.split('\n')) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined && type !== undefined) {
      const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name];
      for (const each of names) if (!metrics.has(each)) metrics.set(each, { type, labels: undefined });
    }
    const [, sample, labels] = /^([a-z_\d]+)(?:\{(.*)\})? \S+$/i.exec(line) ?? [];
    const metric = sample === undefined ? undefined : metrics.get(sample);
    if (metric) metric.labels ??= new Set([...(labels ?? '').matchAll(/([a-z_\d]+)="/g)].map(([, label]) => label!));
  }
  return metrics;
}

async function metricsAt(address: ListenAddress | undefined): Promise<string> {
  if (!address) throw new Error('a node without an address for operators');
  return (await fetch(`http://${address.address}:${address.port}/metrics`)).text();
}

/** What only faults and hostile clients show, and no node of a test has */
async function metricsOfFaults(): Promise<string> {
  const metrics = new Metrics({
    transport: () => undefined,
    tcpConnections: () => 0,
    limitHits: () => ({}),
    upstreams: () => [],
    certificateExpiry: () => new Date(),
  });
  metrics.slowClientEnded('unread');
  metrics.deliveries.add({ delivery: 'return', backend: 'one', fallback: 'silent' });
  metrics.observer().applicationFailed('/echo');
  return metrics.registry.metrics();
}

/** Starts a gateway with workers that belongs to a fleet, where somebody else writes. It stops with the test. */
async function startOfFleet(): Promise<RunningNode> {
  const directory = await temporaryDirectory();
  const registry = join(directory, 'registry');
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'secrets'), formatSecrets(renewSecrets([])), { mode: 0o600 });
  await new FileDriver(registry).heartbeat('node.stranger', Buffer.from('x'));
  const file = join(directory, 'sheaf.yaml');
  const member =
    'workers: 2, secrets: ./secrets, connection_ids: { server_id: "01" }, forward: { listen: 127.0.0.1:0 }';
  await writeFile(
    file,
    `nodes: { one: { role: gateway, listen: 127.0.0.1:0, admin: 127.0.0.1:0, ${member}, routes: [{ files: ./site }] } }
registry: { file: ./registry }
`,
  );
  const running = await RunningConfiguration.start({
    file,
    choose: (loaded) => loaded.nodes,
    node: { logStream: logTo([]) },
    now: () => new Date(),
  });
  onTestFinished(() => running.close(0));
  return running.nodes[0]!;
}

/** Starts a node of every role. They stop with the test. */
async function startAllRoles() {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'site', 'a.txt'), 'hello');
  const { origin } = await mirror();
  const [tcp, udp] = [await startTarget(), await startUdpTarget((packet) => packet)];
  const port = await freePort();
  const admin = 'admin: 127.0.0.1:0';
  const to = (target: number): string => `listen: "127.0.0.1:0", to: "127.0.0.1:${target}"`;
  const { nodes } = await startNamed(directory, {
    laptop: ['role: edge', 'listen: 127.0.0.1:0', 'gateway: site', 'media: [{ path: /live, channel: /joined }]', admin],
    programs: [
      'role: tunnel',
      'gateway: site',
      `forward: [{ ${to(tcp.port)} }, { ${to(udp.address().port)}, protocol: udp }]`,
      admin,
    ],
    site: [
      ...['role: gateway', `listen: 127.0.0.1:${port}`, 'backbone: 127.0.0.1:0', admin],
      'backends: [one]',
      'channels: { live: {} }',
      ...tunnelRoutes(),
      '  - { path: /echo, webtransport: echo }',
      '  - { path: /live, media: { channel: live } }',
      '  - { path: /joined, channel: live }',
      `  - { path: /api, upstream: "${origin}" }`,
      '  - { path: /backend, backends: [one] }',
      '  - { path: /, files: ./site }',
    ],
    one: [
      ...['role: backend', 'listen: 127.0.0.1:0', 'backbone: 127.0.0.1:0', admin, 'primary: site'],
      `return: { from: "127.0.0.1:${port}", via: own-address }`,
      'routes: [{ path: /, files: ./site }]',
    ],
  });
  return { nodes, port };
}

/** Starts a node of every role, uses what has metrics, and returns these. */
export async function metricsOfAllRoles(): Promise<Map<string, ExportedMetric>> {
  const { nodes: ofRoles, port } = await startAllRoles();
  const nodes = [...ofRoles, await startOfFleet()];
  const gateway = nodes.find((node) => node instanceof Gateway)!;
  const programs = nodes.find((node) => node instanceof TunnelNode)!;
  for (const path of ['/a.txt', '/api', '/backend']) await get(port, path);
  await (await connect(port)).close();
  await openSession(port, '/echo', gateway.certificate.hash);
  await connectTo(portAt(programs, 'tcp'));
  const packets = createSocket('udp4');
  onTestFinished(() => void packets.close());
  packets.send('hello', portAt(programs, 'udp'), '127.0.0.1');
  await once(packets, 'message');
  const metrics = readMetrics(await metricsOfFaults());
  await vi.waitFor(async () => {
    for (const { adminAddress } of nodes) readMetrics(await metricsAt(adminAddress), metrics);
    for (const name of [
      'sheaf_quic_connections_closed_total',
      'sheaf_tcp_tunnel_requests_total',
      'sheaf_registry_refused_entries_total',
    ])
      expect(metrics.get(name)?.labels).toBeDefined();
  }, 30_000);
  return metrics;
}

function portAt(node: TunnelNode, kind: string): number {
  const { listen = '' } = node.status().listeners.find((listener) => listener.kind === kind) ?? {};
  return Number(listen.split(':').at(-1));
}
