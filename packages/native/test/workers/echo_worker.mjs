// One worker of worker_group.test.ts: an HTTP/3 server on its part of the group's sockets.
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { createHttp3Server } from '@sheaf/native';

const { group, index, certificate, secrets } = workerData;
const server = createHttp3Server({ address: '', port: 0, certificate, secrets, worker: { group, index } });
server.on('request', (request, response) => {
  request.resume();
  if (request.url === '/end') {
    response.writeHead(200).end(String(index));
    return;
  }
  response.writeHead(200, { 'x-worker': String(index), 'x-thread': String(threadId) });
  response.end(Buffer.alloc(200_000, index));
});
await server.listen();
parentPort.on('message', () => void server.close().then(() => process.exit(0)));
parentPort.postMessage('listening');
