// A worker of a group that receives uploads, and does nothing else.
import { parentPort, workerData } from 'node:worker_threads';
import { createHttp3Server, type CertificatePair, type ServerRequest } from '@sheaf/native';

/** What such a worker gets */
export interface ForwardingWorker {
  certificate: CertificatePair;
  worker: { group: number; index: number };
}

const { certificate, worker } = workerData as ForwardingWorker;
const server = createHttp3Server({ address: '127.0.0.1', port: 0, alpn: ['h3'], certificate, worker });

async function receive(request: ServerRequest): Promise<number> {
  let bytes = 0;
  const buffer = Buffer.allocUnsafeSlow(256 * 1024);
  for (let read = await request.readInto(buffer); read > 0; read = await request.readInto(buffer)) bytes += read;
  return bytes;
}

server.on('request', (request, response) => {
  receive(request).then(
    (bytes) => response.end(String(bytes)),
    (error: unknown) => response.destroy(error instanceof Error ? error : new Error(String(error))),
  );
});
await server.listen();
parentPort?.postMessage('listening');
