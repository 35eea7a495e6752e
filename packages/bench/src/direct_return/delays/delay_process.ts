// A client whose delays are measured, or which makes the load meanwhile, in a process of its own; see delay_messages.ts.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '@sheaf/gateway';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { median } from '../../measure/statistics.js';
import { CLOCK_BYTES, type DelayNews, type DelayOrder, type Delays, type DelayTask } from './delay_messages.js';

const { port, path, rate, connections, most_open: mostOpen } = JSON.parse(process.argv[2] ?? '') as DelayTask;

interface Sample {
  up: number;
  down: number;
  returned: boolean;
}

async function run(): Promise<void> {
  const clients = await Promise.all(
    Array.from({ length: connections }, () =>
      connectHttp3({ host: '127.0.0.1', port, serverName: 'localhost', alpn: ['h3'], insecure: true }),
    ),
  );
  let order = await next({ state: 'connected' });
  while (order !== 'end') {
    const delays = await (rate > 0 ? atRate(clients, order.seconds) : inTurn(clients, order.seconds));
    order = await next({ state: 'done', delays });
  }
  await Promise.all(clients.map((client) => client.close()));
}

/** Reports, and waits for the next order. */
async function next(news: DelayNews): Promise<DelayOrder> {
  process.send?.(news);
  const [order] = (await once(process, 'message')) as [DelayOrder];
  return order;
}

/** Makes requests when they are due. Their times do not depend on when responses come. */
async function atRate(clients: readonly Http3Client[], seconds: number): Promise<Delays> {
  const samples: Sample[] = [];
  const open = new Set<Promise<void>>();
  const started = performance.now();
  let due = 0;
  let leftOut = 0;
  for (let now = 0; now < seconds * 1000; now = performance.now() - started) {
    for (; due <= (now * rate) / 1000; due += 1) {
      const client = clients[due % clients.length];
      if (!client || open.size >= mostOpen) {
        leftOut += 1;
        continue;
      }
      const request = ask(client).then((sample) => {
        samples.push(sample);
        open.delete(request);
      });
      open.add(request);
    }
    await sleep(Math.max(1, (due * 1000) / rate - (performance.now() - started)));
  }
  await Promise.all(open);
  return delaysOf(samples, leftOut);
}

/** Makes as many requests at a time as may be open, each after another one. */
async function inTurn(clients: readonly Http3Client[], seconds: number): Promise<Delays> {
  const samples: Sample[] = [];
  const end = performance.now() + seconds * 1000;
  const oneByOne = async (client: Http3Client): Promise<void> => {
    while (performance.now() < end) samples.push(await ask(client));
  };
  const each = Math.max(1, Math.floor(mostOpen / clients.length));
  await Promise.all(clients.flatMap((client) => Array.from({ length: each }, () => oneByOne(client))));
  return delaysOf(samples, 0);
}

async function ask(client: Http3Client): Promise<Sample> {
  const asked = process.hrtime.bigint();
  const response = await client.request({ path, authority: 'localhost' });
  const parts: Buffer[] = [];
  for await (const part of response as AsyncIterable<Buffer>) parts.push(part);
  const answered = process.hrtime.bigint();
  const body = Buffer.concat(parts);
  if (response.status !== 200 || body.length !== CLOCK_BYTES)
    throw new Error(`${path}: status ${response.status}, ${body.length} bytes`);
  const arrived = BigInt(body.toString().trim());
  return {
    up: Number(arrived - asked) / 1e6,
    down: Number(answered - arrived) / 1e6,
    returned: /sheaf-delivery;desc="return [^":]*"/.test(String(response.headers['server-timing'] ?? '')),
  };
}

const delaysOf = (samples: readonly Sample[], leftOut: number): Delays => ({
  requests: samples.length,
  left_out: leftOut,
  up_ms: median(samples.map(({ up }) => up)),
  down_ms: median(samples.map(({ down }) => down)),
  round_trip_ms: median(samples.map(({ up, down }) => up + down)),
  returned: samples.filter(({ returned }) => returned).length,
});

const news = await run().then(
  () => undefined,
  (error: unknown): DelayNews => ({ state: 'failed', reason: errorMessage(error) }),
);
if (news) process.send?.(news, () => process.exit(0));
else process.exit(0);
