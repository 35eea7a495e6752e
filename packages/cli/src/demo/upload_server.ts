import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface UploadServer {
  origin: string;
  close(): Promise<void>;
}

/** The application behind the demo's gateway: takes an upload and says what arrived. */
export async function startUploadServer(): Promise<UploadServer> {
  const server = createServer((request, response) => {
    const hash = createHash('sha256');
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      hash.update(chunk);
      bytes += chunk.length;
    });
    request.once('error', () => response.destroy());
    request.once('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(`${JSON.stringify({ bytes, sha256: hash.digest('hex') })}\n`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
