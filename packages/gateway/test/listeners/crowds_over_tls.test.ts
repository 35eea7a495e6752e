import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startFullGateway } from '../support/gateway.js';

/** Connections of a small share that come in at once; further ones wait for their turn. */
const atOnce = 64;
const limits = 'limits: { connections_per_network: 200 }';

/** Opens connections from one address, and resolves once each has shaken hands. */
function open(port: number, count: number, protocol: 'http/1.1' | 'h2'): Promise<TLSSocket[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: [protocol] });
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => undefined).resume();
      await once(socket, 'secureConnect');
      return socket;
    }),
  );
}

const closed = (sockets: TLSSocket[]): number => sockets.filter(({ destroyed }) => destroyed).length;

it('over TLS, connections of HTTP/1.1 that do nothing give way to further ones of their network', async () => {
  const { port } = await startFullGateway(`routes: [{ files: . }]\n${limits}`);
  const quiet = await open(port, atOnce, 'http/1.1');
  await open(port, 20, 'http/1.1');
  await vi.waitFor(() => expect(closed(quiet)).toBeGreaterThan(10), 30_000);
});

it('over TLS, connections of HTTP/2 and those of a trusted proxy wait for nobody, and do not give way', async () => {
  const forwarded = 'trusted_proxies: 127.0.0.1';
  const http2 = await startFullGateway(`routes: [{ files: . }]\n${limits}`);
  const proxy = await startFullGateway(`routes: [{ files: . }]\n${limits}\n${forwarded}`);
  for (const [port, protocol] of [
    [http2.port, 'h2'],
    [proxy.port, 'http/1.1'],
  ] as const) {
    const sockets = [...(await open(port, atOnce, protocol)), ...(await open(port, 100, protocol))];
    expect(closed(sockets)).toBe(0);
  }
});
