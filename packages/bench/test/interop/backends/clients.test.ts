// Clients without Multi-End download from three backends over one connection to the gateway. Meanwhile their address
// changes, and keys are updated. A table says how many packets each client sends for those that it gets.
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectWhole } from '../client_checks.js';
import type { Peer } from '../peer.js';
import { aioquic } from '../peers/aioquic.js';
import { chromium } from '../peers/chromium.js';
import { curl } from '../peers/curl.js';
import { firefox } from '../peers/firefox.js';
import { quicGo, webtransportGo, webtransportGoDraft02 } from '../peers/go.js';
import { ngtcp2 } from '../peers/ngtcp2.js';
import { pycurl } from '../peers/pycurl.js';
import { qh3 } from '../peers/qh3.js';
import { quicheHttp3 } from '../peers/quiche.js';
import { quinn } from '../peers/quinn.js';
import { root } from '../programs.js';
import { startRelay } from '../relay.js';
import type { Body } from '../site.js';
import { deliveries, largeMegabytes, startBackendsSite, type BackendsSite, type Delivery } from './site.js';

const python = join(root, '.sheaf', 'interop', 'bin', 'python');
const go = (name: string): string => join(root, '.sheaf', 'interop-go', name);

/** Each with the program that it needs, and the deliveries that it is tried with */
const clients: readonly (readonly [Peer, string, readonly Delivery[]])[] = [
  [chromium, '/usr/bin/chromium', deliveries],
  [firefox, '/usr/bin/firefox-esr', deliveries],
  [quicGo, go('newest'), deliveries],
  [aioquic, python, deliveries],
  [ngtcp2, '/usr/bin/gtlsclient', deliveries],
  // Others, each with a transport or a version of its own
  [webtransportGo, go('webtransport'), ['return']],
  [webtransportGoDraft02, go('draft02'), ['return']],
  [qh3, python, ['return']],
  [curl, python, ['return']],
  [pycurl, python, ['return']],
  [quinn, join(root, 'packages', 'bench', 'interop', 'target', 'release', 'quinn-interop'), ['return']],
  [quicheHttp3, join(root, 'packages', 'bench', 'node_modules', '@currentspace', 'http3', 'package.json'), ['return']],
];

/** UDP payload of an IPv4 packet of 1,500 bytes. Loopback has a larger MTU, with which a download takes fewer packets. */
const longest = 1_472;

/** Least and greatest share of the bodies' bytes that the gateway itself sends */
const gatewaysShare: Record<Delivery, readonly [number, number]> = { proxy: [1, Infinity], return: [0, 0.1] };

interface Row {
  client: string;
  delivery: string;
  bodies: string;
  seconds: string;
  /** Datagrams to the client with at least 1,200 bytes */
  full: number;
  /** Datagrams of the client. Beside its requests, they are acknowledgements. */
  acknowledgements: number;
  perFull: string;
  /** For a gateway, with the number of full datagrams before */
  keysUpdatedBy: string;
}

const rows: Row[] = [];
let site: BackendsSite;
beforeAll(async () => {
  site = await startBackendsSite();
});
afterAll(async () => {
  console.table(rows);
  // Undefined where it did not start.
  await (site as BackendsSite | undefined)?.stop();
});

describe.each(clients)('$slug', (peer, program, tried) => {
  afterAll(() => peer.stop?.());
  beforeEach((context) => {
    if (existsSync(program)) return;
    const reason = `${program} is missing; run \`npm run setup\``;
    process.stderr.write(`${context.task.name}: skipped, ${reason}\n`);
    context.skip(reason);
  });

  describe.each(tried)('delivery: %s', (delivery) => {
    test(`a file of ${largeMegabytes} MB from each backend`, () => download(peer, delivery, site.files(delivery)));
    test('a page of 100 objects', () => download(peer, delivery, site.page(delivery)));
  });
});

async function download(peer: Peer, delivery: Delivery, bodies: readonly Body[]): Promise<void> {
  const total = bodies.reduce((sum, { bytes }) => sum + bytes, 0);
  const updatesKeys = peer.cannot.keyUpdate === undefined;
  const sentBefore = await site.bytesSent();
  let updated = Promise.resolve(0);
  const relay = await startRelay(site.port, {
    longest,
    after: [
      { bytes: total * 0.2, call: () => relay.rebind() },
      {
        bytes: total * 0.4,
        call: () => (updated = updatesKeys ? updated : site.updateKeys().then(() => relay.counts.full)),
      },
    ],
  });
  const logged = site.logged();
  const began = performance.now();
  const reports = await peer
    .download({ site, port: relay.port, paths: bodies.map(({ path }) => path), keyUpdate: updatesKeys })
    .finally(() => relay.close());
  const seconds = (performance.now() - began) / 1_000;
  const { full, fromClient, afterRebinding } = relay.counts;
  rows.push({
    client: peer.name,
    delivery,
    bodies: `${bodies.length}, ${(total / 1e6).toFixed(1)} MB`,
    seconds: seconds.toFixed(1),
    full,
    acknowledgements: fromClient,
    perFull: (fromClient / full).toFixed(3),
    keysUpdatedBy: updatesKeys ? 'client' : `gateway after ${await updated}`,
  });
  expectWhole(reports, bodies);
  await expectDelivery(delivery, bodies, logged);
  const share = ((await site.bytesSent()) - sentBefore) / total;
  expect(share).toBeGreaterThanOrEqual(gatewaysShare[delivery][0]);
  expect(share).toBeLessThanOrEqual(gatewaysShare[delivery][1]);
  if (updatesKeys) expect(reports[0]?.keyUpdates).toBeGreaterThan(0);
  expect(await updated).toBeLessThan(full);
  expect(afterRebinding).toBeGreaterThan(full / 2);
}

async function expectDelivery(delivery: Delivery, bodies: readonly Body[], logged: number): Promise<void> {
  const travelled = await site.travelled(bodies, logged);
  const byPath = new Map(travelled.map((line) => [line.path, line]));
  expect(travelled.flatMap(({ path, fallback }) => (fallback === undefined ? [] : [{ path, fallback }]))).toEqual([]);
  for (const { path, bytes } of bodies) {
    const line = byPath.get(path);
    const backend = basename(dirname(path));
    expect(line).toMatchObject({ status: 200, route: dirname(path), backend, delivery });
    // A client that has everything may leave before it has acknowledged everything that a backend sent.
    if (delivery !== 'return' || line?.aborted === undefined) expect(line?.bytes).toBe(bytes);
  }
  expect(new Set(travelled.map(({ connection }) => connection)).size).toBe(1);
}
