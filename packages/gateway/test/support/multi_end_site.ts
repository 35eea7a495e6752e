import { once } from 'node:events';
import {
  createHttp3Server,
  type BackendKeyMode,
  type Http3Client,
  type Http3Server,
  type ImportedConnection,
  type ServerConnection,
  type SocketAddress,
} from '@sheaf/native';
import { onTestFinished } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { connect } from './http3_client.js';

/** A byte of every body, by its offset. */
const pattern = Buffer.from(Array.from({ length: 1 << 16 }, (_, at) => (at * 7 + (at >> 8)) & 0xff));

export function patternBytes(length: number): Buffer {
  return Buffer.concat(Array.from({ length: Math.ceil(length / pattern.length) }, () => pattern)).subarray(0, length);
}

export interface NamedServer {
  name: string;
  server: Http3Server;
  address: SocketAddress;
  /** Bytes of request bodies that arrived as they should. */
  uploaded: number;
}

/** `GET /N` gives N bytes, `POST` takes any; the response's `server-name` says who answered. */
async function startServer(name: string, backendKeyModes: readonly BackendKeyMode[]): Promise<NamedServer> {
  const certificate = await createDevCertificate(['localhost'], new Date());
  const server = createHttp3Server({
    address: '127.0.0.1',
    port: 0,
    alpn: ['h3'],
    certificate,
    multiEnd: true,
    backendKeyModes,
  });
  onTestFinished(() => server.close(0));
  const named: NamedServer = { name, server, address: await server.listen(), uploaded: 0 };
  server.on('request', (request, response) => {
    response.setHeader('server-name', name);
    if (request.method === 'GET') return response.end(patternBytes(Number(request.url.slice(1))));
    let at = 0;
    request.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === pattern[at++ & 0xffff]) named.uploaded += 1;
    });
    request.on('end', () => response.end(String(at)));
  });
  return named;
}

export interface Site {
  primary: NamedServer;
  backends: NamedServer[];
  client: Http3Client;
  /** The client's connection at the primary. */
  connection: ServerConnection;
}

/** A client of a primary server, and servers that can become backends; all in this process, on loopback. */
export async function startSite({
  backendKeyModes = ['per-path', 'shared'],
  backends = 2,
}: { backendKeyModes?: readonly BackendKeyMode[]; backends?: number } = {}): Promise<Site> {
  const primary = await startServer('primary', backendKeyModes);
  const servers = [];
  for (let backend = 0; backend < backends; backend += 1)
    servers.push(await startServer(`backend${backend}`, backendKeyModes));
  const accepted = once(primary.server, 'connection') as Promise<[ServerConnection]>;
  const client = await connect(primary.address.port, { multiEnd: true, localAddress: '127.0.0.1' });
  const [connection] = await accepted;
  if (!connection.multiEnd) await once(connection, 'multiEndReady');
  return { primary, backends: servers, client, connection };
}

/** Hands a path over to the server and carries what they tell each other, as a backbone would. */
export async function handOver(
  { connection, client }: Site,
  backend: number,
  server: NamedServer,
): Promise<ImportedConnection> {
  const imported = server.server.importConnection(connection.handOver(backend, server.address));
  imported.on('primaryMessage', (message) => connection.receiveBackendMessage(backend, message));
  const carry = (to: number, message: Buffer): void => {
    if (to === backend) imported.receivePrimaryMessage(message);
  };
  connection.on('backendMessage', carry);
  connection.on('backendPathAbandoned', (left) => {
    if (left !== backend) return;
    connection.off('backendMessage', carry);
    imported.forget();
  });
  const offered = once(client, 'backendOffered');
  connection.offerBackend(backend);
  await offered;
  return imported;
}

/** A backend that the client can send requests to. */
export async function joinBackend(
  site: Site,
  backend: number,
  server = site.backends[backend]!,
): Promise<ImportedConnection> {
  const imported = await handOver(site, backend, server);
  await site.client.openBackend(backend);
  return imported;
}
