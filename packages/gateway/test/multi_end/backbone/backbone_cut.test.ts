import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createNodeKey, nodeKeyFile } from '../../../src/values/node_key.js';
import { parseConfiguration } from '../../../src/configuration/load.js';
import { BackendClient } from '../../../src/multi_end/client/backend_client.js';
import { Backend } from '../../../src/nodes/backend.js';
import { Gateway } from '../../../src/nodes/gateway.js';
import { closeNodes, startNodes } from '../../../src/nodes/start_nodes.js';
import { collect } from '../../support/client.js';
import { connect } from '../../support/http3_client.js';
import { logTo } from '../../support/nodes.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';
import { freePort } from '../../../src/values/free_port.js';

/** Datagrams for one port, carried to another one until the link is cut. */
class Relay {
  cut = false;
  readonly #outer: Socket = createSocket('udp4');
  readonly #inner = new Map<number, Socket>();

  constructor(private readonly target: number) {}

  async listen(): Promise<number> {
    this.#outer.on('message', (bytes, { port }) => this.#innerOf(port).send(bytes, this.target, '127.0.0.1'));
    this.#outer.bind(0, '127.0.0.1');
    await once(this.#outer, 'listening');
    return this.#outer.address().port;
  }

  close(): void {
    for (const socket of [this.#outer, ...this.#inner.values()]) socket.close();
  }

  /** One for each sender, so that answers find back. */
  #innerOf(port: number): { send(bytes: Buffer, to: number, address: string): void } {
    let socket = this.#inner.get(port);
    if (!socket) {
      socket = createSocket('udp4');
      socket.on('message', (bytes) => {
        if (!this.cut) this.#outer.send(bytes, port, '127.0.0.1');
      });
      this.#inner.set(port, socket);
    }
    const found = socket;
    return {
      send: (bytes, to, address) => {
        if (!this.cut) found.send(bytes, to, address);
      },
    };
  }
}

// Far more than a backend has credit for.
const large = randomBytes(12_000_000);

it('nodes of different files find each other by their keys, and a cut between them costs no download', async () => {
  const [siteHome, farHome] = [await temporaryDirectory(), await temporaryDirectory()];
  for (const home of [siteHome, farHome]) {
    await mkdir(join(home, 'files'));
    await writeFile(join(home, 'files', 'a.bin'), large);
  }
  // One state of the file has one tag everywhere, once it is old enough.
  for (const home of [siteHome, farHome]) await utimes(join(home, 'files', 'a.bin'), 1_000_000, 1_000_000);
  const [siteKey, farKey] = [
    await createNodeKey(nodeKeyFile(siteHome, 'site')),
    await createNodeKey(nodeKeyFile(farHome, 'far')),
  ];
  const [siteBackbone, farListen, farBackbone] = [await freePort(), await freePort(), await freePort()];
  const relay = new Relay(farBackbone);
  const relayPort = await relay.listen();
  onTestFinished(() => relay.close());
  const log: Record<string, unknown>[] = [];
  const start = (home: string, text: string) =>
    startNodes(parseConfiguration(text, join(home, 'sheaf.yaml')).nodes, { logStream: logTo(log) });
  const far = await start(
    farHome,
    `nodes: { far: { role: backend, listen: "127.0.0.1:${farListen}", backbone: "127.0.0.1:${farBackbone}", primary: { name: site, backbone: "127.0.0.1:${siteBackbone}", public_key: "${siteKey.publicKey.toString()}" }, routes: [{ files: files }] } }`,
  );
  const site = await start(
    siteHome,
    `nodes:
  site:
    role: gateway
    listen: 127.0.0.1:0
    admin: 127.0.0.1:0
    backbone: 127.0.0.1:${siteBackbone}
    backends:
      - { name: far, address: "127.0.0.1:${farListen}", backbone: "127.0.0.1:${relayPort}", public_key: "${farKey.publicKey.toString()}" }
      - near
    routes: [{ backends: [far, near] }]
  near: { role: backend, listen: "127.0.0.1:0", backbone: "127.0.0.1:0", primary: site, routes: [{ files: files }] }`,
  );
  onTestFinished(() => closeNodes([...far, ...site], 0));
  const gateway = site.find((node) => node instanceof Gateway)!;
  const backend = far.find((node) => node instanceof Backend)!;
  const states = (): string[] => gateway.status().backends?.map(({ state }) => state) ?? [];
  await vi.waitFor(() => expect(states()).toEqual(['serving', 'serving']), 30_000);

  const connection = await connect(gateway.address.port, { multiEnd: true });
  const client = new BackendClient(connection);
  await client.ready(20_000);
  const open = (count: number): Promise<void> =>
    vi.waitFor(() => {
      expect(connection.status().backends.filter(({ state }) => state === 'open')).toHaveLength(count);
    }, 30_000);
  await open(2);
  // Of two backends that serve, the client may choose the one that looks nearer for all requests.
  const near = async (action: 'drain' | 'resume'): Promise<void> => {
    const admin = `http://127.0.0.1:${gateway.adminAddress!.port}/backends/near/${action}`;
    expect((await fetch(admin, { method: 'POST', headers: { 'sheaf-admin': '1' } })).status).toBe(200);
  };
  await near('drain');
  await open(1);
  const responses = await Promise.all(Array.from({ length: 4 }, () => client.request({ path: '/a.bin' })));
  expect(backend.status().requestsActive).toBeGreaterThan(0);
  await near('resume');
  await open(2);
  relay.cut = true;
  for (const body of await Promise.all(responses.map(collect))) expect(body.equals(large)).toBe(true);
  await vi.waitFor(() => expect(states()[0]).toBe('lost'), 30_000);
  expect(log.some(({ msg, state }) => msg === 'a backend changed' && state === 'lost')).toBe(true);

  relay.cut = false;
  await vi.waitFor(() => expect(states()).toEqual(['serving', 'serving']), 30_000);
  await vi.waitFor(() => expect(gateway.status().backends?.[0]?.connections).toBe(1), 60_000);
});
