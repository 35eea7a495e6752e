import type { BackendNodeStatus, GatewayBackend, GatewayStatus, LinkStatus, NodeStatus } from '@sheaf/gateway';
import { expect, it } from 'vitest';
import { renderStatus } from '../src/commands/status.js';

const front = {
  version: '1.0.0',
  pid: 1,
  node: 'site',
  state: 'serving',
  startedAt: '2026-01-01T00:00:00Z',
  uptimeSeconds: 1,
  listen: '203.0.113.7:443',
  certificate: { development: false, sha256: '', expiry: '' },
  requestsActive: 0,
  requestsTotal: 0,
  tcpConnections: 0,
  limitHits: {},
  webTransportSessions: 0,
} as const;

const link = (state: LinkStatus['state'], more: Partial<LinkStatus> = {}): LinkStatus => ({
  peer: 'one',
  address: '10.0.0.2:4533',
  state,
  ...more,
});

function backend(name: string, more: Partial<GatewayBackend>): GatewayBackend {
  const load = { connections: 0, load: 0, requestsActive: 0, bytesSent: 0, bytesReceived: 0, proxied: 0 };
  const deliveries = { responses: {}, fallbacks: {}, lost: {}, ownRecovery: 0, returnedBytes: 0 };
  const backbone = link('open', { rttMs: 1 });
  return {
    name,
    id: 0,
    addresses: [],
    state: 'serving',
    backbone,
    ...load,
    returns: true,
    returning: 0,
    deliveries,
    ...more,
  };
}

function sectionsOf(backends: GatewayBackend[]): string[] {
  const status: GatewayStatus = { ...front, alpn: ['h3'], connections: [], routes: [], role: 'gateway', backends };
  return renderStatus(status).split('\n\n');
}

/** Lines of the table, with single spaces */
function returned(backends: GatewayBackend[]): string[] {
  const sections = sectionsOf(backends);
  const table = sections.find((section) => section.trimStart().startsWith('return')) ?? '';
  return table.split('\n').map((line) => line.trim().replace(/ +/g, ' '));
}

it('shows which backends send from the address of the gateway, and what came of it', () => {
  const deliveries = {
    responses: { return: 7, proxy: 13 },
    fallbacks: { small: 2, 'http-version': 10, method: 1 },
    lost: { silent: 1 },
    ownRecovery: 3,
    returnedBytes: 5_000,
  };
  expect(
    returned([
      backend('one', { runs: link('open', { rttMs: 0.31 }), returning: 4, deliveries }),
      backend('two', { runs: link('waiting', { reason: 'the connection timed out' }) }),
      backend('three', { runs: link('closed'), returns: false }),
    ]),
  ).toEqual([
    'return runs now responses own recovery bytes not to the end proxied instead',
    'one 0.3 ms 4 7 3 5000 1: silent 1 13: http-version 10, small 2, method 1',
    'two waiting: the connection timed out 0 0 0 0 0 0',
    'three no `return` 0 0 0 0 0 0',
  ]);
});

it('says what to do where responses were not returned, if there is something to do', () => {
  const runs = link('open', { rttMs: 1 });
  const fine = {
    responses: {},
    fallbacks: { small: 3, 'http-version': 2 },
    lost: {},
    ownRecovery: 0,
    returnedBytes: 0,
  };
  const remedy = /^unreachable: Let the network pass packets of the backend with the gateway's address: .*$/;
  expect(sectionsOf([backend('one', { runs, deliveries: fine })]).at(-1)).toMatch(/^return /);
  expect(sectionsOf([backend('one', { runs, deliveries: { ...fine, lost: { unreachable: 1 } } })]).at(-1)).toMatch(
    remedy,
  );
  const fallbacks = { ...fine.fallbacks, unreachable: 1 };
  expect(sectionsOf([backend('one', { runs, deliveries: { ...fine, fallbacks } })]).at(-1)).toMatch(remedy);
});

it('says nothing of it where no backend does', () => {
  expect(returned([backend('one', { runs: link('closed'), returns: false })])).toEqual(['']);
});

it('shows what a backend sent from addresses of gateways', () => {
  const refused = { late: 3, low: 0, otherPhase: 0, outOfBounds: 0, noData: 9, paused: 0, tooMany: 0, broken: 0 };
  const status: BackendNodeStatus = {
    ...front,
    alpn: ['h3'],
    connections: [],
    routes: [],
    role: 'backend',
    primary: { name: 'site', connected: true },
    serving: true,
    guests: 0,
    return: {
      ...{ from: ['203.0.113.7:443'], via: 'transparent', recovery: 'backend', sessions: 1, grants: 2 },
      ...{ runs: 10, packets: 300, bytes: 400_000, refused, expired: 0 },
    },
  };
  expect(renderStatus(status)).toContain(
    'from 203.0.113.7:443 (transparent), recovery by the backend, 1 gateway connected; 2 responses now; 300 packets with 400000 bytes sent; runs refused 12: noData 9, late 3',
  );
});

it('shows what channels lose before and after repairs, and how soon receivers hear them', () => {
  const counts = { copiesLost: 0, refusedReports: 0, droppedProofs: 0, expired: 0, unsent: 7 };
  const live = { name: 'live', group: { family: 'IPv4', address: '232.1.2.3', port: 5004 }, ...counts } as const;
  const seen = { receivers: 3, receiving: 2, packets: 1_000, repairs: 40, copies: 100, received: 1_800, lost: 200 };
  const held = {
    rate: 1_250_000,
    heldOnCopies: 5,
    waitingForCopies: 6,
    networksHeldDown: 8,
    feedsGroup: false,
    groupPauses: 9,
  };
  const free = {
    rate: 0,
    heldOnCopies: 0,
    waitingForCopies: 0,
    networksHeldDown: 0,
    feedsGroup: false,
    groupPauses: 0,
  };
  const idle = { name: 'idle', ...counts, ...free, receivers: 0, receiving: 0, packets: 0, repairs: 0, copies: 0 };
  const status: GatewayStatus = {
    ...front,
    alpn: ['h3'],
    connections: [],
    routes: [],
    role: 'gateway',
    channels: [
      { ...live, ...seen, ...held, recovered: 100, joins: 2, joinSeconds: 0.05 },
      { ...idle, received: 0, lost: 0, recovered: 0, joins: 0, joinSeconds: 0 },
    ],
  };
  const rows = renderStatus(status)
    .split('\n')
    .map((row) => row.replace(/ {2,}/g, ' | ').trim());
  expect(rows).toContain('live | 232.1.2.3:5004 | 3 | 2 | 1000 | 40 | 10.0 % | 5.0 % | 5.0 % | 25 ms | 7');
  expect(rows).toContain('live | 1250KB/s | no, 9 pauses | 5 | 6 | 8');
  expect(rows).toContain('idle | 0 | 0 | 0');
  expect(rows.find((row) => row.startsWith('idle'))).toMatch(/^idle \| copies alone \| 0 \| 0 \| 0 \| 0 \|.* 7$/);
});

const drops = { unknownContext: 0, targetTooLarge: 2, targetBlocked: 0, targetRefused: 0, clientTooLarge: 7 };
const tunnels = {
  open: 3,
  waitingBytes: 1_500,
  responseMs: 31.26,
  packetsToTarget: 10,
  bytesToTarget: 9_000,
  packetsToClient: 20,
  bytesToClient: 24_000,
  packetsRepeated: 6,
  packetsMarked: 8,
  drops: {
    ...drops,
    ...{ queueFull: 0, queueStanding: 0, clientLost: 0, overRate: 0, fragment: 0, badHeader: 0, noTunnel: 0 },
  },
  answers: { 200: 5, 403: 1, 407: 4 },
};
const tcpTunnels = {
  open: 2,
  bytesToTarget: 700,
  bytesToClient: 90_000,
  openingMs: 12.34,
  answers: { 200: 8, 502: 1 },
};

/** Lines with bars between the columns */
const rowsOf = (status: NodeStatus): string[] =>
  renderStatus(status)
    .split('\n')
    .map((row) => row.replace(/ {2,}/g, ' | ').trim());

function expectTunnels(rows: readonly string[]): void {
  expect(rows).toContain(
    '3 | 5 | 1 by 403, 4 by 407 | 10 packets, 9000 bytes | 20 packets, 24000 bytes | 1500 bytes | 31.3 ms | 6 | 8 | 2 targetTooLarge, 7 clientTooLarge',
  );
  expect(rows).toContain('2 | 8 | 1 by 502 | 700 bytes | 90000 bytes | 12.3 ms');
}

it('shows what tunnels carried and dropped, and which requests got none', () => {
  const site = { ...front, alpn: ['h3'], connections: [], routes: [] };
  expectTunnels(rowsOf({ ...site, role: 'gateway', tunnels, tcpTunnels }));
});

it('shows the ports of a tunnel node, its tunnels, and its connection to the gateway', () => {
  const { version, pid, state, startedAt, uptimeSeconds } = front;
  const rows = rowsOf({
    ...{ version, pid, state, startedAt, uptimeSeconds },
    node: 'laptop',
    role: 'tunnel',
    gateway: {
      ...{ address: '203.0.113.7:443', state: 'waiting', opened: 1, connections: [] },
      reason: 'no response within 5 s',
    },
    listeners: [
      { kind: 'socks5', listen: '127.0.0.1:1080', open: 2, refused: 1 },
      { kind: 'udp', listen: '127.0.0.1:5443', to: 'a.example:443', reason: 'no connection', open: 0, refused: 0 },
    ],
    ...{ tunnels, tcpTunnels },
  });
  expect(rows).toContain('node | laptop (tunnel)');
  expect(rows).toContain('gateway | 203.0.113.7:443, waiting, 1 connection so far; no response within 5 s');
  expect(rows).toContain('127.0.0.1:1080 | socks5 | any target | 2 | 1');
  expect(rows).toContain('127.0.0.1:5443: no connection | udp | a.example:443 | 0 | 0');
  expectTunnels(rows);
});

it('shows what each worker does, and why one was replaced', () => {
  const since = new Date().toISOString();
  const datagrams = { passedOn: 1, taken: 2, lost: 3 };
  const status: GatewayStatus = {
    ...front,
    ...{ alpn: ['h3'], connections: [], routes: [], role: 'gateway', steering: 'addresses' },
    workers: [
      {
        worker: 0,
        state: 'serving',
        since,
        restarts: 0,
        datagrams,
        requestsActive: 4,
        quicConnections: 5,
        tcpConnections: 6,
      },
      { worker: 1, state: 'waiting', since, restarts: 7, reason: 'it failed', datagrams },
    ],
  };
  const text = renderStatus(status).replace(/ +/g, ' ');
  expect(text).toContain('0 serving for 0 s 4 5 6 1/2/3 0');
  expect(text).toContain('1 waiting for 0 s 1/2/3 7: it failed');
  expect(text).toContain('UDP datagrams reach workers by addresses');
});
