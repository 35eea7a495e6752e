import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect as connectTcp, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { get } from '../../support/client.js';
import { startFullGateway } from '../../support/gateway.js';
import { ask, connect } from '../../support/http3_client.js';
import { openSession, sendAndReadAll } from '../../support/sessions.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';

/** Forwards one TCP and UDP port of 127.0.0.1 to another, as a router with port mapping does. */
async function startMapping(): Promise<{ port: number; leadTo(port: number): void }> {
  let target = 0;
  const tcp = createServer((socket) => {
    const inner = connectTcp(target, '127.0.0.1');
    socket.pipe(inner).pipe(socket);
    for (const each of [socket, inner])
      each.on('error', () => undefined).on('close', () => (socket.destroy(), inner.destroy()));
  }).listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4').bind(port, '127.0.0.1');
  await once(udp, 'listening');
  const inner = new Map<string, UdpSocket>();
  udp.on('message', (message: Buffer, { address, port: from }: RemoteInfo) => {
    const key = `${address} ${from}`;
    let socket = inner.get(key);
    if (!socket) {
      socket = createSocket('udp4').on('message', (back: Buffer) => udp.send(back, from, address));
      inner.set(key, socket);
    }
    socket.send(message, target, '127.0.0.1');
  });
  onTestFinished(() => {
    tcp.close();
    udp.close();
    inner.forEach((socket) => socket.close());
  });
  return { port, leadTo: (to) => void (target = to) };
}

async function startBehindMapping() {
  const mapping = await startMapping();
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'a.txt'), 'hello');
  const running = await startFullGateway(
    `public_url: "https://127.0.0.1:${mapping.port}"\nroutes: [{ path: /echo, webtransport: echo }, { files: . }]`,
    directory,
  );
  mapping.leadTo(running.port);
  return { mapped: mapping.port, ...running };
}

describe('behind port mapping', () => {
  it('clients are led to the port that they see', async () => {
    const { mapped, gateway } = await startBehindMapping();
    const { headers } = await get(mapped, '/a.txt');
    const [, offered] = /^h3=":(\d+)"; ma=86400$/.exec(headers['alt-svc']!) ?? [];
    expect(Number(offered)).toBe(mapped);
    const client = await connect(Number(offered));
    expect((await ask(client, { path: '/a.txt' })).body.toString()).toBe('hello');
    expect(gateway.status()).toMatchObject({ publicUrl: `https://127.0.0.1:${mapped}/` });
  });

  it('sessions are opened where the gateway says', async () => {
    const { mapped } = await startBehindMapping();
    const { hashes, authority } = JSON.parse(
      (await get(mapped, '/.well-known/sheaf/certificate-hashes')).body.toString(),
    ) as { hashes: string[]; authority: string };
    expect(authority).toBe(`127.0.0.1:${mapped}`);
    const session = await openSession(Number(authority.split(':')[1]), '/echo', hashes[0] ?? '');
    expect((await sendAndReadAll(session, Buffer.from('through'))).toString()).toBe('through');
  });

  it('the name that a page asked for stays, with a certificate of an authority', async () => {
    const { describeListener } = await import('../../../src/nodes/front/description.js');
    const describe_ = describeListener(
      { listen: { address: '10.0.0.7', port: 4433 }, public_url: { host: 'www.example.com', port: 443 } },
      () => ({ isDevelopment: false }) as never,
      () => 4433,
    );
    expect(describe_({ request: { authority: 'shop.example.com:443' } } as never)).toEqual({
      hashes: [],
      authority: 'shop.example.com:443',
    });
  });
});
