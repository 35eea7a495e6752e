// The client of `bench direct-return --real`, in a process of its own; see load_messages.ts.
import { once } from 'node:events';
import { errorMessage } from '@sheaf/gateway';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import type { LoadNews, LoadOrder, LoadTask, Received } from './load_messages.js';

const { port, path, bytes, connections, streams, packetsPerAck } = JSON.parse(process.argv[2] ?? '') as LoadTask;

async function run(): Promise<void> {
  let clients: Http3Client[] = [];
  for (let order = await next({ state: 'loaded' }); order !== 'end';) {
    if (order === 'connect') {
      clients = await Promise.all(Array.from({ length: connections }, connect));
      order = await next({ state: 'connected' });
    } else order = await next({ state: 'done', received: await load(clients, order.seconds) });
  }
  await Promise.all(clients.map((client) => client.close()));
}

const connect = (): Promise<Http3Client> =>
  connectHttp3({ host: '127.0.0.1', port, serverName: 'localhost', alpn: ['h3'], insecure: true, packetsPerAck });

/** Reports its progress, and waits for the next order. */
async function next(news: LoadNews): Promise<LoadOrder> {
  process.send?.(news);
  const [order] = (await once(process, 'message')) as [LoadOrder];
  return order;
}

/** Asks again and again until the time is over. Requests that were made until then are finished, and count. */
async function load(clients: readonly Http3Client[], seconds: number): Promise<Received> {
  const started = performance.now();
  const end = started + seconds * 1000;
  let requests = 0;
  const oneByOne = async (client: Http3Client): Promise<void> => {
    do {
      await download(client);
      requests += 1;
    } while (performance.now() < end);
  };
  await Promise.all(clients.flatMap((client) => Array.from({ length: streams }, () => oneByOne(client))));
  return { requests, seconds: (performance.now() - started) / 1000 };
}

async function download(client: Http3Client): Promise<void> {
  const response = await client.request({ path, authority: 'localhost' });
  let arrived = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) arrived += chunk.length;
  if (response.status !== 200 || arrived !== bytes)
    throw new Error(`${path}: status ${response.status}, ${arrived} of ${bytes} bytes`);
}

const news = await run().then(
  () => undefined,
  (error: unknown): LoadNews => ({ state: 'failed', reason: errorMessage(error) }),
);
if (news) process.send?.(news, () => process.exit(0));
else process.exit(0);
