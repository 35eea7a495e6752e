// Receives uploads over HTTP/3 in a process of its own, and answers what each cost it.
import { loadDevCertificate } from '@sheaf/gateway';
import { createHttp3Server, type ServerRequest } from '@sheaf/native';
import type { Received } from './upload_bench.js';

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error('usage: upload_server.js DIRECTORY');
const server = createHttp3Server({
  address: '127.0.0.1',
  port: 0,
  alpn: ['h3'],
  certificate: await loadDevCertificate(directory, ['localhost'], new Date()),
});

async function receive(request: ServerRequest): Promise<Received> {
  const processor = process.cpuUsage();
  const calls = server.counters().javascriptCalls;
  let bytes = 0;
  let pieces = 0;
  const buffer = Buffer.allocUnsafeSlow(256 * 1024);
  for (let read = await request.readInto(buffer); read > 0; read = await request.readInto(buffer)) {
    bytes += read;
    pieces += 1;
  }
  const { user, system } = process.cpuUsage(processor);
  return { bytes, pieces, calls: server.counters().javascriptCalls - calls, cpu_seconds: (user + system) / 1e6 };
}

server.on('request', (request, response) => {
  receive(request).then(
    (received) => response.end(JSON.stringify(received)),
    (error: unknown) => response.destroy(error instanceof Error ? error : new Error(String(error))),
  );
});
const { port } = await server.listen();
process.stdout.write(`${port}\n`);
process.once('SIGTERM', () => void server.close(0).then(() => process.exit(0)));
