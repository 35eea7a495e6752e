// The client of `bench direct-return --real`, in a process of its own; see load_messages.ts.
import { once } from 'node:events';
import { errorMessage } from '@sheaf/gateway';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { finerProcessorSeconds } from '../../process/processor_time.js';
import type { LoadNews, LoadOrder, LoadTask } from './load_messages.js';

const task = JSON.parse(process.argv[2] ?? '') as LoadTask;
/** Bytes of bodies that have come so far */
let received = 0;
let ended = false;

async function run(): Promise<void> {
  let clients: Http3Client[] = [];
  for (let order = await next({ state: 'loaded' }); order !== 'end';) {
    if (order === 'connect') {
      clients = await Promise.all(Array.from({ length: task.connections }, (_, index) => connect(index)));
      order = await next({ state: 'connected' });
    } else if (order === 'ask') {
      for (const client of clients) for (let stream = 0; stream < task.streams; stream += 1) void ask(client);
      order = await next({ state: 'asking' });
    } else order = await next({ state: 'read', reading: read() });
  }
  ended = true;
  await Promise.all(clients.map((client) => client.close()));
}

/** Opens a connection from an address of its own: a network has a share of what a gateway permits, and clients are many. */
const connect = (index: number): Promise<Http3Client> =>
  connectHttp3({
    host: '127.0.0.1',
    port: task.port,
    localAddress: `127.0.1.${index + 1}`,
    serverName: 'localhost',
    alpn: ['h3'],
    insecure: true,
    packetsPerAck: task.packetsPerAck,
  });

/** Reports its progress, and waits for the next order. */
async function next(news: LoadNews): Promise<LoadOrder> {
  process.send?.(news);
  const [order] = (await once(process, 'message')) as [LoadOrder];
  return order;
}

const read = (): Extract<LoadNews, { state: 'read' }>['reading'] => ({
  bytes: received,
  seconds: performance.now() / 1000,
  processor_s: finerProcessorSeconds([task.watched]),
});

/** Asks again and again. What fails fails the whole run, except for what its end cuts off. */
async function ask(client: Http3Client): Promise<void> {
  try {
    while (!ended) await download(client);
  } catch (error) {
    if (!ended) fail(error);
  }
}

async function download(client: Http3Client): Promise<void> {
  const response = await client.request({ path: task.path, authority: 'localhost' });
  let arrived = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    arrived += chunk.length;
    received += chunk.length;
  }
  if (response.status !== 200 || arrived !== task.bytes)
    throw new Error(`${task.path}: status ${response.status}, ${arrived} of ${task.bytes} bytes`);
}

function fail(error: unknown): void {
  const news: LoadNews = { state: 'failed', reason: errorMessage(error) };
  process.send?.(news, () => process.exit(0));
}

await run().then(() => process.exit(0), fail);
