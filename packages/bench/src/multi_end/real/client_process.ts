// One client of `bench multi-end --real`, in a process of its own; see client_messages.ts.
import { once } from 'node:events';
import { BackendClient, errorMessage } from '@sheaf/gateway';
import { connectHttp3, type ConnectionStatus, type Http3Client } from '@sheaf/native';
import type { ClientNews, ClientOrder, ClientResult, ClientTask } from './client_messages.js';
import { Http2Requester } from './http2_requester.js';

/** Longest wait for the backends, in milliseconds */
const PATIENCE_MS = 20_000;

const task = JSON.parse(process.argv[2] ?? '') as ClientTask;
const body = task.direction === 'upload' ? Buffer.alloc(task.bytes, 'sheaf ') : undefined;

async function run(): Promise<ClientResult> {
  await order('connect', { state: 'loaded' });
  return task.protocol === 'h3' ? overHttp3() : overHttp2();
}

async function overHttp3(): Promise<ClientResult> {
  const client = await connectHttp3({
    host: '127.0.0.1',
    port: task.port,
    serverName: 'localhost',
    alpn: ['h3'],
    insecure: true,
    multiEnd: task.backends > 0,
  });
  try {
    const requester = new BackendClient(client);
    if (task.backends > 0) await Promise.all([requester.ready(PATIENCE_MS), untilOpen(client)]);
    await transferAll(async ({ method, headers }) => {
      const upload = body && { method, headers, body };
      const response = await requester.request({ path: task.path, authority: 'localhost', ...upload });
      return { status: response.status, body: response as AsyncIterable<Buffer> };
    });
    return { backendsShare: backendsShare(client.status()) };
  } finally {
    await client.close().catch(() => undefined);
  }
}

async function overHttp2(): Promise<ClientResult> {
  const requester = await Http2Requester.connect(task.port);
  try {
    await transferAll(({ method, headers }) =>
      requester.request({ ':method': method, ':path': task.path, ...headers }, body),
    );
    return { backendsShare: 0 };
  } finally {
    await requester.close();
  }
}

interface Answer {
  status: number;
  body: AsyncIterable<Buffer>;
}
type Ask = (request: { method: string; headers: Record<string, string> }) => Promise<Answer>;

/** Makes all requests, one after the other, when it is told to. */
async function transferAll(ask: Ask): Promise<void> {
  await order('go', { state: 'connected' });
  for (let request = 0; request < task.requests; request += 1) await transfer(ask);
}

/** Reports its progress, and waits for the next order. */
async function order(expected: ClientOrder, news: ClientNews): Promise<void> {
  process.send?.(news);
  const [received] = (await once(process, 'message')) as [ClientOrder];
  if (received !== expected) throw new Error(`${received} instead of ${expected}`);
}

async function untilOpen(client: Http3Client): Promise<void> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const open = (): number => client.status().backends.filter(({ state }) => state === 'open').length;
  while (open() < task.backends) {
    await once(client, 'backendPathOpen', { signal }).catch(() => {
      throw new Error(`${open()} of ${task.backends} backends are open after ${PATIENCE_MS / 1000} s`);
    });
  }
}

async function transfer(ask: Ask): Promise<void> {
  const { path } = task;
  // Caddy 2.6 proxies no body of unknown length.
  const answer = await (body
    ? ask({ method: 'POST', headers: { 'content-length': String(body.length) } })
    : ask({ method: 'GET', headers: {} }));
  const arrived = body ? Number(await text(answer)) : await count(answer);
  if (answer.status !== 200 || arrived !== task.bytes)
    throw new Error(`${path}: status ${answer.status}, ${arrived} of ${task.bytes} bytes`);
}

async function count(answer: Answer): Promise<number> {
  let bytes = 0;
  for await (const chunk of answer.body) bytes += chunk.length;
  return bytes;
}

async function text(answer: Answer): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function backendsShare({ paths, backends }: ConnectionStatus): number {
  const ofBackends = new Set(backends.map(({ path }) => path));
  const sum = (counted: readonly { bytesSent: number; bytesReceived: number }[]): number =>
    counted.reduce((total, { bytesSent, bytesReceived }) => total + bytesSent + bytesReceived, 0);
  const direct = sum(backends);
  const primary = sum(paths.filter(({ id }) => !ofBackends.has(id)));
  return direct / (direct + primary);
}

const news = await run().then(
  (result): ClientNews => ({ state: 'done', result }),
  (error: unknown): ClientNews => ({ state: 'failed', reason: errorMessage(error) }),
);
process.send?.(news, () => process.exit(0));
