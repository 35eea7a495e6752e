// The client of idle tunnels of `bench tunnels --real`: connections with as many of them as a gateway permits.
import { Readable } from 'node:stream';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { serveCalls } from '../../process/called_process.js';

/** Opens tunnels. Answered once all are open. */
export interface IdleCall {
  /** Port of the proxy */
  port: number;
  /** Path of the requests */
  path: string;
  connections: number;
  /** Tunnels of each connection */
  tunnels: number;
}

serveCalls<IdleCall>(async ({ port, path, connections, tunnels }) => {
  for (let index = 0; index < connections; index += 1) {
    const proxy = await connect(port, index);
    await Promise.all(Array.from({ length: tunnels }, () => openTunnel(proxy, path)));
  }
});

/** Opens a connection from an address of its own: an address has a share of what a gateway permits. */
const connect = (port: number, index: number): Promise<Http3Client> =>
  connectHttp3({
    host: '127.0.0.1',
    port,
    localAddress: `127.0.1.${index + 1}`,
    serverName: 'localhost',
    alpn: ['h3'],
    insecure: true,
    datagrams: true,
    keepAliveMs: 10_000,
  });

async function openTunnel(proxy: Http3Client, path: string): Promise<void> {
  const { status } = await proxy.request({
    method: 'CONNECT',
    protocol: 'connect-udp',
    path,
    authority: 'localhost',
    headers: { 'capsule-protocol': '?1' },
    // A request whose body is open, as its tunnel is.
    body: new Readable({ read: () => undefined }),
  });
  if (status !== 200) throw new Error(`a tunnel was answered with ${status}`);
}
