import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { TunnelNodeStatus } from '../../src/observability/status.js';
import { Exclusive } from '../../src/values/exclusive.js';
import { freePort } from '../../src/values/free_port.js';
import { startNamed } from '../support/nodes.js';
import { startProcess, type NodeProcess } from '../support/node_process.js';
import { keepAsking } from '../support/repeated.js';
import { upgrades } from '../support/repetitions.js';
import { startTarget } from '../support/tcp_target.js';
import { temporaryDirectory } from '../support/temporary_directory.js';
import { askHttp, askSocks, connectRequest, connectTo, tunnelRoutes } from '../support/tunnel_node.js';
import { startTarget as startUdpTarget } from '../support/udp_target.js';
import { writeFiles } from '../support/write_files.js';

interface Laptop {
  node: NodeProcess<TunnelNodeStatus>;
  /** Ways to a server that gives back what it gets, by name */
  ways: Record<string, () => Promise<Socket>>;
  /** Opens a program of UDP. Returns what sends a text, and resolves with what came back. */
  openUdp(): Promise<(text: string) => Promise<string>>;
  closeGateway(): Promise<void>;
}

/** A tunnel node with all kinds of ports in a process of its own, and its gateway here */
async function startLaptop(): Promise<Laptop> {
  const [directory, admin, socks, http, tcp, udp] = [await temporaryDirectory(), ...(await freePorts(5))] as const;
  const [target, udpTarget] = [await startTarget(), await startUdpTarget((packet) => packet)];
  target.server.on('connection', (socket) => socket.pipe(socket));
  const { nodes } = await startNamed(directory, {
    site: ['role: gateway', 'listen: 127.0.0.1:0', ...tunnelRoutes()],
  });
  const [gateway] = nodes;
  const listen = gateway!.entrances[0]!.at.replace('https://', '').replace(/\/$/, '').replace('localhost', '127.0.0.1');
  const to = `127.0.0.1:${target.port}`;
  await writeFiles(directory, {
    'laptop.yaml': `nodes:
  laptop:
    role: tunnel
    gateway: { address: "${listen}", certificate: insecure }
    admin: 127.0.0.1:${admin}
    socks5: 127.0.0.1:${socks}
    http_proxy: 127.0.0.1:${http}
    forward:
      - { listen: "127.0.0.1:${tcp}", to: "${to}" }
      - { listen: "127.0.0.1:${udp}", to: "127.0.0.1:${udpTarget.address().port}", protocol: udp }
`,
  });
  const node = await startProcess<TunnelNodeStatus>({ file: join(directory, 'laptop.yaml'), admin });
  return {
    node,
    ways: {
      socks5: async () => (await askSocks(socks, '127.0.0.1', target.port))[0],
      http: async () => (await askHttp(http, connectRequest(to)))[0],
      tcp: () => connectTo(tcp),
    },
    openUdp: async () => {
      const socket = createSocket('udp4');
      onTestFinished(() => void socket.close());
      await new Promise<void>((resolve) => socket.connect(udp, '127.0.0.1', resolve));
      const turns = new Exclusive();
      return (text) =>
        turns.run(async () => {
          socket.send(text);
          return String(((await once(socket, 'message')) as [Buffer])[0]);
        });
    },
    closeGateway: () => gateway!.close(0),
  };
}

async function freePorts(count: number): Promise<[number, number, number, number, number]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports] as [number, number, number, number, number];
}

async function echo(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  return String(((await once(socket, 'data')) as [Buffer])[0]);
}

it(`${upgrades} upgrades of a tunnel node fail no connection, and keep those that are open`, async () => {
  const { node, ways, openUdp, closeGateway } = await startLaptop();
  const kept = await Promise.all(Object.values(ways).map((open) => open()));
  const keptUdp = await openUdp();
  const asking = Object.entries(ways).map(([name, open]) =>
    keepAsking(
      name,
      async () => {
        const socket = await open();
        const answer = await echo(socket, 'there');
        socket.destroy();
        return answer;
      },
      { allowed: ['there'], pauseMs: 20 },
    ),
  );
  // A program that sends from the same port all the time, so that its packets come at any moment
  const sending = keepAsking('udp', () => keptUdp('there'), { allowed: ['there'], pauseMs: 5 });
  for (let generation = 1; generation <= upgrades; generation++) {
    expect(await node.upgrade()).toMatchObject({ accepted: true });
    for (const socket of kept) expect(await echo(socket, `${generation}`)).toBe(`${generation}`);
    expect(await keptUdp(`${generation}`)).toBe(`${generation}`);
    for (const open of Object.values(ways)) expect(await echo(await open(), 'new')).toBe('new');
    expect(await (await openUdp())('new')).toBe('new');
    const { upgrade, gateway, listeners } = await node.status();
    expect([upgrade?.generation, gateway.state]).toEqual([generation, 'open']);
    expect(listeners.map(({ kind }) => kind)).toEqual(['socks5', 'http', 'tcp', 'udp']);
  }
  const tallies = await Promise.all([...asking, sending].map((each) => each.stop()));
  expect(tallies.flatMap(({ failed }) => failed)).toEqual([]);
  console.info(`${upgrades} upgrades of a tunnel node: ${tallies.map(({ asked }) => asked).join(', ')} times`);
  // Nothing is left of the tunnels of the first process then.
  await closeGateway();
  expect(await node.exit).toBe(0);
}, 300_000);
