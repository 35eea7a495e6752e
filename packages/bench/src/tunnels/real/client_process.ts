// The downloads of `bench tunnels --real`, all in one process: the client inside of the tunnels.
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { serveCalls } from '../../process/called_process.js';

export type ClientCall =
  /** Connects to each of these ports, of a server or of tunnels to it. */
  | { type: 'connect'; ports: number[] }
  /** Answered once each connection has downloaded the file. */
  | { type: 'download'; path: string; bytes: number };

/** What every tunnel carries. A larger packet, such as a probe of the server, ends tunnels of masque-go. */
const LONGEST_DATAGRAM = 1_200;

let clients: Http3Client[] = [];
/** All downloads read into the same memory: nobody looks at their bytes. */
const buffer = Buffer.allocUnsafeSlow(256 * 1024);

serveCalls<ClientCall>(async (call) => {
  switch (call.type) {
    case 'connect':
      clients = await Promise.all(call.ports.map(connect));
      return;
    case 'download':
      await Promise.all(clients.map((client) => download(client, call)));
  }
});

const connect = (port: number): Promise<Http3Client> =>
  connectHttp3({
    host: '127.0.0.1',
    port,
    serverName: 'localhost',
    alpn: ['h3'],
    insecure: true,
    longestDatagram: LONGEST_DATAGRAM,
  });

async function download(client: Http3Client, { path, bytes }: { path: string; bytes: number }): Promise<void> {
  const response = await client.request({ path, authority: 'localhost' });
  let arrived = 0;
  for (let read = await response.readInto(buffer); read > 0; read = await response.readInto(buffer)) arrived += read;
  if (response.status !== 200 || arrived !== bytes)
    throw new Error(`${path}: status ${response.status}, ${arrived} of ${bytes} bytes`);
}
