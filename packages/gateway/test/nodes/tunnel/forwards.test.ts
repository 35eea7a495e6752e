import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ecn, openMarkedSocket } from '../../support/marked_udp.js';
import { readAll, startTarget } from '../../support/tcp_target.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';
import { connectTo, startTunnelPair, tunnelRoutes } from '../../support/tunnel_node.js';
import { startTarget as startUdpTarget } from '../../support/udp_target.js';

const forwardTo = (port: number, protocol = 'tcp'): string =>
  `forward: [{ listen: "127.0.0.1:0", to: "127.0.0.1:${port}", protocol: ${protocol} }]`;

it('a port of TCP carries bytes both ways, and each side ends by itself', async () => {
  const target = await startTarget();
  const { tunnel, gateway, log, portOf } = await startTunnelPair({ tunnel: [forwardTo(target.port)] });
  const program = await connectTo(portOf('tcp'));
  program.end('from the program');
  const socket = await target.accept();
  expect(await readAll(socket)).toBe('from the program');
  expect(tunnel.status()).toMatchObject({
    gateway: { state: 'open', opened: 1 },
    listeners: [{ kind: 'tcp', to: `127.0.0.1:${target.port}`, open: 1, refused: 0 }],
    tcpTunnels: { open: 1, answers: { 200: 1 } },
  });
  socket.end('and to it, after its end');
  expect(await readAll(program)).toBe('and to it, after its end');
  await vi.waitFor(() => {
    expect(gateway.status().tcpTunnels?.open).toBe(0);
    expect(tunnel.status()).toMatchObject({
      listeners: [{ open: 0 }],
      tcpTunnels: { open: 0, bytesToTarget: 16, bytesToClient: 24 },
    });
  }, 10_000);
  expect(log.find(({ program: kind }) => kind === 'tcp')).toMatchObject({
    msg: 'TCP tunnel ended',
    target: `127.0.0.1:${target.port}`,
    reason: 'ended',
    bytesToTarget: 16,
    bytesToClient: 24,
  });
});

it('what a program says after the end of its target arrives, and ends in order', async () => {
  const target = await startTarget();
  const { tunnel, portOf } = await startTunnelPair({ tunnel: [forwardTo(target.port)] });
  const program = await connectTo(portOf('tcp'));
  const socket = await target.accept();
  socket.end('first');
  expect(await readAll(program)).toBe('first');
  const last = 'x'.repeat(500_000);
  program.end(last);
  expect(await readAll(socket)).toBe(last);
  await vi.waitFor(() => expect(tunnel.status().tcpTunnels.open).toBe(0), 10_000);
});

it('a reset goes on in both directions', async () => {
  const target = await startTarget();
  const { tunnel, portOf } = await startTunnelPair({ tunnel: [forwardTo(target.port)] });
  const first = await connectTo(portOf('tcp'));
  (await target.accept()).resetAndDestroy();
  expect(await once(first.resume(), 'error')).toMatchObject([{ code: 'ECONNRESET' }]);
  const second = await connectTo(portOf('tcp'));
  const socket = await target.accept();
  await vi.waitFor(() => expect(tunnel.status().tcpTunnels.open).toBe(1), 30_000);
  second.resetAndDestroy();
  expect(await once(socket.resume(), 'error')).toMatchObject([{ code: 'ECONNRESET' }]);
  await vi.waitFor(() => expect(tunnel.status().tcpTunnels.open).toBe(0), 10_000);
});

/** Sends as much as the other side takes. */
function writeAll(socket: Socket): void {
  socket.on('drain', () => socket.write(Buffer.alloc(1 << 20)));
  while (socket.write(Buffer.alloc(1 << 20)));
}

it('a program that reads nothing holds its target back, and nobody else', async () => {
  const target = await startTarget();
  const { tunnel, portOf } = await startTunnelPair({ tunnel: [forwardTo(target.port)] });
  const stalled = await connectTo(portOf('tcp'));
  writeAll(await target.accept());
  stalled.pause();
  const program = await connectTo(portOf('tcp'));
  const echo = await target.accept();
  echo.pipe(echo);
  for (let piece = 0; piece < 40; piece += 1) {
    program.write(`piece ${piece}`);
    expect(String(((await once(program, 'data')) as [Buffer])[0])).toBe(`piece ${piece}`);
  }
  // What the systems between target, gateway, node and program hold, too
  expect(tunnel.status().tcpTunnels.bytesToClient).toBeLessThan(40_000_000);
});

it('a target that reads nothing holds its program back', async () => {
  const target = await startTarget();
  const { tunnel, portOf } = await startTunnelPair({ tunnel: [forwardTo(target.port)] });
  const stalled = await connectTo(portOf('tcp'));
  (await target.accept()).pause();
  writeAll(stalled);
  let before = -1;
  await vi.waitFor(
    () => {
      const { bytesToTarget } = tunnel.status().tcpTunnels;
      const stands = bytesToTarget > 0 && bytesToTarget === before;
      before = bytesToTarget;
      expect(stands).toBe(true);
    },
    { timeout: 60_000, interval: 100 },
  );
  expect(before).toBeLessThan(40_000_000);
});

it('a program gets a reset when its target is gone, also after that of another one', async () => {
  const target = await startTarget();
  const { tunnel, portOf, log } = await startTunnelPair({ tunnel: [forwardTo(target.port)] });
  target.server.close();
  await once(target.server, 'close');
  for (const count of [1, 2]) {
    const program = await connectTo(portOf('tcp'));
    expect(await once(program.resume(), 'error')).toMatchObject([{ code: 'ECONNRESET' }]);
    expect(tunnel.status().tcpTunnels).toMatchObject({ open: 0, answers: { 502: count } });
  }
  expect(log.filter(({ msg, program }) => msg === 'tunnel refused' && program === 'tcp')).toMatchObject([
    { status: 502, error: 'the target refuses the connection (502)' },
    { status: 502 },
  ]);
});

it('packets of UDP travel both ways, for each peer by a tunnel of its own', async () => {
  const target = await startUdpTarget((packet) => Buffer.from(`echo of ${packet.toString()}`));
  const { tunnel, portOf } = await startTunnelPair({
    tunnel: [forwardTo(target.address().port, 'udp'), 'admin: 127.0.0.1:0'],
  });
  await vi.waitFor(() => expect(tunnel.status().listeners[0]).not.toHaveProperty('reason'), 30_000);
  await vi.waitFor(() => expect(tunnel.status().gateway.state).toBe('open'), 30_000);
  for (const peer of ['one', 'two']) {
    const socket = createSocket('udp4');
    onTestFinished(() => void socket.close());
    socket.send(peer, portOf('udp'), '127.0.0.1');
    const [packet] = (await once(socket, 'message')) as [Buffer];
    expect(packet.toString()).toBe(`echo of ${peer}`);
  }
  expect(tunnel.status()).toMatchObject({
    listeners: [{ kind: 'udp', open: 2 }],
    tunnels: {
      open: 2,
      packetsToTarget: 2,
      bytesToTarget: 6,
      packetsToClient: 2,
      bytesToClient: 22,
      answers: { 200: 2 },
    },
  });
  const admin = async (path: string) => fetch(`http://127.0.0.1:${tunnel.adminAddress?.port}${path}`);
  expect(await (await admin('/metrics')).text()).toContain('sheaf_tunnel_packets_total{direction="to_target"} 2\n');
  expect(await (await admin('/tunnels/report')).json()).toMatchObject({
    node: 'laptop',
    role: 'tunnel',
    openUdp: 2,
    bytesToTarget: 6,
    bytesToClient: 22,
    paths: [{ id: 0, state: 'active' }],
  });
  expect(await (await admin('/metrics')).text()).toContain(
    'sheaf_tunnel_marked_packets_total{direction="to_client"} 0\n',
  );
  const files = ['', 'tunnels.js', 'live.css', 'fonts/archivo.woff2', 'absent.js', '../status'];
  const answers = await Promise.all(files.map((file) => admin(`/tunnels/${file}`)));
  expect(answers.map(({ status, headers }) => [status, headers.get('content-type')])).toEqual([
    [200, 'text/html; charset=utf-8'],
    [200, 'text/javascript; charset=utf-8'],
    [200, 'text/css; charset=utf-8'],
    [200, 'font/woff2'],
    [404, 'text/plain'],
    // `fetch` resolves the path.
    [200, 'application/json'],
  ]);
});

it('packets of UDP keep their ECN marks both ways', async () => {
  const [program, target] = [await openMarkedSocket(), await openMarkedSocket()];
  const { tunnel, gateway, portOf } = await startTunnelPair({ tunnel: [forwardTo(target.port, 'udp')] });
  await vi.waitFor(() => expect(tunnel.status().listeners[0]).not.toHaveProperty('reason'), 30_000);
  await vi.waitFor(() => expect(tunnel.status().gateway.state).toBe('open'), 30_000);
  program.send({ port: portOf('udp'), ecn: ecn.ect1, text: 'there' });
  const there = await target.next();
  expect(there).toMatchObject({ ecn: ecn.ect1, text: 'there' });
  target.send({ port: there.port, ecn: ecn.ce, text: 'back' });
  expect(await program.next()).toEqual({ port: portOf('udp'), ecn: ecn.ce, text: 'back' });
  // The mark came from the target.
  expect(gateway.status().tunnels).toMatchObject({ packetsMarked: 0, packetsToClient: 1 });
});

it('credentials come from a file that only its owner may read, and stand in no log', async () => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'users.txt'), 'ann:a long password\n', { mode: 0o600 });
  await writeFile(join(directory, 'user.txt'), 'ann:a long password\n', { mode: 0o600 });
  await writeFile(join(directory, 'wrong.txt'), 'ann:a wrong password\n', { mode: 0o600 });
  const target = await startTarget();
  const gateway = tunnelRoutes('users: users.txt');
  const start = (file: string) =>
    startTunnelPair({ directory, gateway, tunnel: [forwardTo(target.port), `user: { file: ${file} }`] });
  const right = await start('user.txt');
  await connectTo(right.portOf('tcp'));
  await target.accept();
  const wrong = await start('wrong.txt');
  const program = await connectTo(wrong.portOf('tcp'));
  expect(await once(program.resume(), 'error')).toMatchObject([{ code: 'ECONNRESET' }]);
  expect(wrong.tunnel.status().tcpTunnels.answers).toEqual({ 502: 1 });
  const log = JSON.stringify([...right.log, ...wrong.log]);
  expect(log).toContain('the gateway wants other credentials');
  expect(log).not.toMatch(/password|YW5u/);
  await writeFile(join(directory, 'open.txt'), 'ann:a long password\n', { mode: 0o644 });
  await expect(start('open.txt')).rejects.toMatchObject({ code: 'CREDENTIALS_UNUSABLE' });
  await expect(start('absent.txt')).rejects.toMatchObject({ code: 'CREDENTIALS_UNUSABLE' });
});
