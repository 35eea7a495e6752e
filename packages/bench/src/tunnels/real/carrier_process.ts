// Sheaf as the client of a proxy in `bench tunnels --real`: connections with a tunnel each, and a local port that leads to it.
import { connectHttp3 } from '@sheaf/native';
import { serveCalls } from '../../process/called_process.js';

export interface CarrierCall {
  /** Port of the proxy */
  port: number;
  /** Path of the request for the tunnel */
  path: string;
  tunnels: number;
}

serveCalls<CarrierCall>(({ tunnels, ...place }) => Promise.all(Array.from({ length: tunnels }, () => openPort(place))));

async function openPort({ port, path }: Omit<CarrierCall, 'tunnels'>): Promise<number> {
  const proxy = await connectHttp3({
    host: '127.0.0.1',
    port,
    serverName: 'localhost',
    alpn: ['h3'],
    insecure: true,
    datagrams: true,
  });
  const { address } = proxy.openTunnelPort({ local: { address: '127.0.0.1', port: 0, family: 'IPv4' }, path });
  return address.port;
}
