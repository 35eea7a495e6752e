// Opens and closes connections to a server in the same process, and prints the resident memory after
// each block of them as JSON: { "blocks": [bytes, …], "failed": n }. Run with --expose-gc.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectHttp3, createHttp3Server } from '@sheaf/native';

const [certificateFile, keyFile, blocks, perBlock] = process.argv.slice(2);
const server = createHttp3Server({
  address: '127.0.0.1',
  port: 0,
  alpn: ['h3'],
  certificate: { certificate: readFileSync(certificateFile, 'utf8'), privateKey: readFileSync(keyFile, 'utf8') },
  handshakesPerSecond: 100_000,
});
server.on('request', (request, response) => {
  request.resume();
  response.end('x'.repeat(1000));
});
const { port } = await server.listen();

let failed = 0;
async function connectAndClose() {
  try {
    const client = await connectHttp3({
      alpn: ['h3'],
      host: '127.0.0.1',
      port,
      serverName: 'localhost',
      insecure: true,
    });
    const response = await client.request({ path: '/' });
    for await (const part of response) if (part.length === 0) failed += 1;
    await client.close();
  } catch (error) {
    console.error(error);
    failed += 1;
  }
}

/** Resident memory once the connections of the block have left their closing period (RFC 9000 §10.2). */
async function settledMemory() {
  for (let attempt = 0; attempt < 100 && server.counters().connectionsOpenGauge > 0; attempt += 1) await sleep(50);
  globalThis.gc();
  await sleep(50);
  globalThis.gc();
  return process.memoryUsage().rss;
}

const resident = [];
for (let block = 0; block < Number(blocks); block += 1) {
  for (let count = 0; count < Number(perBlock); count += 10) {
    await Promise.all(Array.from({ length: 10 }, connectAndClose));
  }
  resident.push(await settledMemory());
}
const open = server.counters().connectionsOpenGauge;
await server.close(0);
console.log(JSON.stringify({ blocks: resident, failed, open }));
