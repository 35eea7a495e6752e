import { createHash, randomBytes } from 'node:crypto';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../../src/values/free_port.js';
import { relayTo, switchTo } from '../../support/relay.js';
import { startTarget } from '../../support/tcp_target.js';
import { connectTo, startTunnelPair, tunnelRoutes, type TunnelPair } from '../../support/tunnel_node.js';
import { startTarget as startUdpTarget } from '../../support/udp_target.js';

const large = randomBytes(3_000_000);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const patience = 60_000;

const statesOf = ({ tunnel }: TunnelPair): string[] =>
  tunnel.status().gateway.connections[0]?.paths.map(({ state }) => state) ?? [];

/** Starts a node whose paths lead over so many links, with a port to the target. */
async function startOverLinks(links: number, port: number) {
  const gatewayPort = await freePort();
  const relays = Array.from({ length: links }, () => relayTo(gatewayPort));
  const paths = relays.map(({ remote }) => `{ local: 127.0.0.1, remote: "${remote}" }`);
  const pair = await startTunnelPair({
    gatewayPort,
    gateway: [...tunnelRoutes(), 'path_scheduler: round-robin'],
    tunnel: [`paths: [${paths.join(', ')}]`, `forward: [{ listen: "127.0.0.1:0", to: "127.0.0.1:${port}" }]`],
  });
  await vi.waitFor(() => expect(statesOf(pair)).toEqual(Array(links).fill('active')), patience);
  return { pair, relays: relays.map(({ relay }) => relay) };
}

/** Reads what the target sends to its end; `onProgress` hears of the bytes so far. */
async function download(program: Socket, onProgress: (bytes: number) => void): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  program.on('data', (chunk: Buffer) => {
    hash.update(chunk);
    onProgress((bytes += chunk.length));
  });
  await once(program, 'end');
  return hash.digest('hex');
}

it('connections of programs go on while one of two paths is cut', async () => {
  const target = await startTarget();
  const { pair, relays } = await startOverLinks(2, target.port);
  const program = await connectTo(pair.portOf('tcp'));
  (await target.accept()).end(large);
  let cut = false;
  const hash = await download(program, (bytes) => {
    if (!cut && bytes > 500_000) relays[0]!.setDown((cut = true));
  });
  expect([cut, hash]).toEqual([true, sha256(large)]);
  expect(pair.tunnel.status().gateway.opened).toBe(1);
});

it('they go on after the only path was cut, once it is back', async () => {
  const target = await startTarget();
  const { pair, relays } = await startOverLinks(1, target.port);
  const program = await connectTo(pair.portOf('tcp'));
  const socket = await target.accept();
  socket.end(large);
  let cut: Promise<void> | undefined;
  const hash = await download(program, (bytes) => {
    if (cut || bytes < 500_000) return;
    relays[0]!.setDown(true);
    program.write('is anybody there?');
    cut = vi.waitFor(() => expect(statesOf(pair)).toEqual(['silent']), patience).then(() => relays[0]!.setDown(false));
  });
  await cut;
  expect(hash).toBe(sha256(large));
  expect(String(((await once(socket, 'data')) as [Buffer])[0])).toBe('is anybody there?');
  expect(pair.tunnel.status().gateway.opened).toBe(1);
});

it('a gateway that was started again ends open connections, and gets the next ones', async () => {
  const target = await startTarget();
  const udp = await startUdpTarget((packet) => packet);
  const pair = await startTunnelPair({
    tunnel: [
      'forward:',
      `  - { listen: "127.0.0.1:0", to: "127.0.0.1:${target.port}" }`,
      `  - { listen: "127.0.0.1:0", to: "127.0.0.1:${udp.address().port}", protocol: udp }`,
    ],
  });
  const { portOf, tunnel } = pair;
  const first = await connectTo(portOf('tcp'));
  await target.accept();
  await vi.waitFor(() => expect(tunnel.status().tcpTunnels.open).toBe(1), patience);
  const lost = once(first.resume(), 'error');
  await pair.restartGateway();
  expect(await lost).toMatchObject([{ code: 'ECONNRESET' }]);
  await connectTo(portOf('tcp'));
  (await target.accept()).destroy();
  await vi.waitFor(() => expect(tunnel.status().listeners[1]).not.toHaveProperty('reason'), patience);
  const peer = createSocket('udp4');
  onTestFinished(() => void peer.close());
  peer.send('once more', portOf('udp'), '127.0.0.1');
  expect(String(((await once(peer, 'message')) as [Buffer])[0])).toBe('once more');
  expect(tunnel.status().gateway.opened).toBe(2);
});

/** A program that sends a packet again and again */
async function startSending(port: number): Promise<UdpSocket> {
  const program = createSocket('udp4');
  // The port is closed for a moment when it changes its owner.
  program.on('error', () => undefined).connect(port, '127.0.0.1');
  await once(program, 'connect');
  const timer = setInterval(() => program.send('hello'), 20);
  onTestFinished(() => {
    clearInterval(timer);
    program.close();
  });
  return program;
}

/** Starts a node whose way to the gateway can be cut, with two programs that have answers */
async function startSwitched() {
  const gatewayPort = await freePort();
  const way = await switchTo(gatewayPort);
  const target = await startTarget();
  const udp = await startUdpTarget((packet) => packet);
  const pair = await startTunnelPair({
    gatewayPort,
    tunnel: [
      `paths: [{ local: 127.0.0.1, remote: "${way.remote}" }]`,
      'forward:',
      `  - { listen: "127.0.0.1:0", to: "127.0.0.1:${target.port}" }`,
      `  - { listen: "127.0.0.1:0", to: "127.0.0.1:${udp.address().port}", protocol: udp }`,
    ],
  });
  const sender = await startSending(pair.portOf('udp'));
  await once(sender, 'message');
  const program = await connectTo(pair.portOf('tcp'));
  const peer = await target.accept();
  peer.pipe(peer);
  program.write('one');
  expect(String(((await once(program, 'data')) as [Buffer])[0])).toBe('one');
  const opened = (count: number): Promise<void> =>
    vi.waitFor(() => expect(pair.tunnel.status().gateway.opened).toBe(count), patience);
  return { pair, way, target, program, sender, opened };
}

it('a second connection takes over from a silent one, which goes on with its tunnels once it is back', async () => {
  const { pair, way, target, program, sender, opened } = await startSwitched();
  way.cutKnown();
  await opened(2);
  way.restore();
  await once(sender, 'message');
  const second = await connectTo(pair.portOf('tcp'));
  (await target.accept()).end('by the second');
  expect(String(((await once(second, 'data')) as [Buffer])[0])).toBe('by the second');
  program.write('two');
  expect(String(((await once(program, 'data')) as [Buffer])[0])).toBe('two');
  expect(pair.gateway.status().connections).toHaveLength(2);
  program.end();
  await vi.waitFor(() => expect(pair.gateway.status().connections).toHaveLength(1), patience);
  expect(pair.tunnel.status().gateway.opened).toBe(2);
});

it('a silent connection that does not come back is abandoned, with its tunnels for TCP, while packets of UDP go on', async () => {
  const { way, program, sender, opened } = await startSwitched();
  const lost = once(program, 'error');
  way.cutKnown();
  await opened(2);
  await once(sender, 'message');
  expect(await lost).toMatchObject([{ code: 'ECONNRESET' }]);
  await once(sender, 'message');
});

it('tunnels go on after an outage, whichever connection is heard first', async () => {
  const { pair, way, program, sender } = await startSwitched();
  pair.log.length = 0;
  way.cutAll();
  await vi.waitFor(() => expect(pair.log.map(({ msg }) => msg)).toContain('the gateway is silent'), patience);
  const echoed = once(program, 'data');
  program.write('two');
  way.restore();
  await once(sender, 'message');
  expect(String(((await echoed) as [Buffer])[0])).toBe('two');
});
