import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { freePort, start, type RunningProcess } from './support/process.js';
import { sheaf, temporaryDirectory } from './support/world.js';

const patience = 30_000;

async function up(file: string, directory: string): Promise<RunningProcess> {
  const running = start(['up', file], directory);
  await vi.waitFor(() => expect(running.out() + running.err()).toMatch(/ready|error/), patience);
  expect(running.err()).not.toContain('error[');
  return running;
}

/** A server of UDP that says everything again */
async function startEcho(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  socket.on('message', (packet, { port, address }) => socket.send(packet, port, address));
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return socket.address().port;
}

/** A server of TCP that never stops to send */
async function startFlood(): Promise<number> {
  const server = createServer((socket) => {
    const send = (): void => {
      while (socket.write(Buffer.alloc(64 * 1024)));
    };
    socket.on('error', () => undefined).on('drain', send);
    send();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A program that sends numbered packets from one socket, and remembers the latest number that came back */
async function startProgram(port: number) {
  const socket: UdpSocket = createSocket('udp4');
  const state = { sent: 0, heard: 0 };
  // The port is closed for a moment when it changes its owner.
  socket.on('error', () => undefined);
  socket.on('message', (packet) => (state.heard = Math.max(state.heard, packet.readUInt32BE())));
  socket.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const timer = setInterval(() => {
    const packet = Buffer.alloc(500);
    packet.writeUInt32BE((state.sent += 1));
    socket.send(packet);
  }, 5);
  onTestFinished(() => {
    clearInterval(timer);
    socket.close();
  });
  return state;
}

async function connectTo(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'data');
  return socket;
}

/** Starts a gateway and a node that forwards two ports through it. `secrets`: a key of the gateway */
async function startNodes(secrets: string) {
  const directory = await temporaryDirectory();
  const [gatewayPort, tcpPort, udpPort] = [await freePort(), await freePort(), await freePort()];
  const [flood, echo] = [await startFlood(), await startEcho()];
  const who = 'clients: 127.0.0.0/8';
  await writeFile(
    join(directory, 'gateway.yaml'),
    `listen: 127.0.0.1:${gatewayPort}\n${secrets}routes:\n  - connect: { allow: 127.0.0.1, ${who} }\n` +
      `  - { path: /.well-known/masque/udp/, connect_udp: { allow: 127.0.0.1, ${who} } }\n`,
  );
  await writeFile(
    join(directory, 'tunnel.yaml'),
    `nodes:\n  laptop:\n    role: tunnel\n` +
      `    gateway: { address: "127.0.0.1:${gatewayPort}", certificate: insecure }\n    forward:\n` +
      `      - { listen: "127.0.0.1:${tcpPort}", to: "127.0.0.1:${flood}" }\n` +
      `      - { listen: "127.0.0.1:${udpPort}", to: "127.0.0.1:${echo}", protocol: udp }\n`,
  );
  return { directory, tcpPort, udpPort };
}

const cases: [name: string, secrets: string][] = [
  ['with a stateless reset of its successor', ''],
  // The successor has other secrets, and no word for connections that it does not know.
  ['without a word', 'secrets: ./secrets\n'],
];

it.each(cases)('a flow of UDP goes on when the gateway was killed under load, %s', async (_name, secrets) => {
  const { directory, tcpPort, udpPort } = await startNodes(secrets);
  const renew = async (): Promise<void> => {
    if (secrets === '') return;
    // Three renewals leave nothing of the secrets before.
    for (let i = 0; i < 3; i++) await sheaf(['secrets', 'secrets'], directory);
  };
  await renew();
  const gateway = await up('gateway.yaml', directory);
  await up('tunnel.yaml', directory);
  const program = await startProgram(udpPort);
  const download = await connectTo(tcpPort);
  const lost = once(download.resume(), 'error');
  await vi.waitFor(() => expect(program.heard).toBeGreaterThan(20), patience);
  gateway.child.kill('SIGKILL');
  await gateway.exit;
  await renew();
  await up('gateway.yaml', directory);
  const { sent } = program;
  await vi.waitFor(() => expect(program.heard).toBeGreaterThan(sent), patience);
  expect(await lost).toMatchObject([{ code: 'ECONNRESET' }]);
  await connectTo(tcpPort);
});
