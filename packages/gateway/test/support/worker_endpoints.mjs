// Ends worker threads while their endpoints are open, and within calls of theirs. Arguments: certificate and key files.
// A crash takes the process with it; otherwise it says `survived`.
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { connectHttp3, createHttp3Server } from '@sheaf/native';

async function serveAndAsk({ certificate, privateKey, closes }) {
  const server = createHttp3Server({
    address: '127.0.0.1',
    port: 0,
    alpn: ['h3'],
    certificate: { certificate, privateKey },
    webtransport: true,
  });
  let connection;
  server.on('connection', (opened) => (connection = opened));
  server.on('request', (request, response) => {
    if (closes) {
      parentPort.postMessage('busy');
      for (;;) connection.close(0, 'a reason');
    }
    request.resume();
    response.writeHead(200);
    setInterval(() => response.write(Buffer.alloc(10_000)), 1);
  });
  const { port } = await server.listen();
  const client = await connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true });
  const response = await client.request({ path: '/' });
  let told = false;
  response.on('data', () => {
    if (!told) parentPort.postMessage('busy');
    told = true;
  });
}

if (isMainThread) {
  const data = {
    certificate: readFileSync(process.argv[2], 'utf8'),
    privateKey: readFileSync(process.argv[3], 'utf8'),
  };
  for (let round = 0; round < 10; round += 1) {
    const program = fileURLToPath(import.meta.url);
    const workers = [false, true].map((closes) => new Worker(program, { workerData: { ...data, closes } }));
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
  process.stdout.write('survived\n');
} else {
  await serveAndAsk(workerData);
}
