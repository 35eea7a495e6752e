import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { ClientResponse, Http3Client, ServerRequest, ServerResponse } from '@sheaf/native';
import { pino } from 'pino';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { BackboneLink } from '../../../src/multi_end/backbone/backbone_link.js';
import {
  BackboneListener,
  backbonePaths,
  type BackboneUse,
} from '../../../src/multi_end/backbone/backbone_listener.js';
import type { Channel } from '../../../src/multi_end/backbone/channel.js';
import {
  backboneVersion,
  encodeMessage,
  runBytes,
  type BackboneMessage,
} from '../../../src/multi_end/backbone/messages.js';
import { NodeKey, NodePublicKey } from '../../../src/values/node_key.js';
import { loadNativeModule } from '../../../src/listeners/native_module.js';

const siteKey = NodeKey.generate();
const backendKey = NodeKey.generate();
let module: Awaited<ReturnType<typeof loadNativeModule>>;
let listener: BackboneListener;
const open: { close(): Promise<void> }[] = [];
const lines: string[] = [];
const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });

beforeAll(async () => void (module = await loadNativeModule()));

const listen = (port = 0, key = backendKey, introductionMs?: number): Promise<BackboneListener> =>
  BackboneListener.listen({
    module,
    name: 'backend1',
    key,
    run: Buffer.alloc(runBytes, 1),
    address: { address: '127.0.0.1', port },
    callers: new Map([['site', siteKey.publicKey]]),
    hint: 'let `primary` of `backend1` be the node with the key',
    onRequest: answer,
    log,
    ...(introductionMs === undefined ? {} : { introductionMs }),
  });

function answer(request: ServerRequest, response: ServerResponse): void {
  request.pipe(response.writeHead(200, { 'x-path': request.url }));
}

const link = (
  options: { use?: BackboneUse; key?: NodeKey; name?: string; publicKey?: NodePublicKey; port?: () => number } = {},
): BackboneLink => {
  const {
    use = 'messages',
    key = siteKey,
    name = 'site',
    publicKey = backendKey.publicKey,
    port = () => listener.address.port,
  } = options;
  const made = new BackboneLink({
    module,
    use,
    name,
    key,
    run: Buffer.alloc(runBytes, 9),
    peer: { name: 'backend1', publicKey },
    address: () => ({ host: '127.0.0.1', port: port() }),
    log,
  });
  open.push(made);
  made.start();
  return made;
};

beforeEach(async () => {
  listener = await listen();
  lines.length = 0;
});
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
  await listener.close();
});

const opened = async (each: BackboneLink): Promise<Channel> =>
  each.channel ?? ((await once(each, 'open')) as [Channel])[0];

test('two nodes know each other and exchange messages in order, both ways', async () => {
  const taken = once(listener, 'channel') as Promise<[Channel]>;
  const channel = await opened(link());
  const [other] = await taken;
  expect(other.peer).toBe('site');
  expect(other.session.session).toEqual(channel.session.session);
  const received: BackboneMessage[] = [];
  const all = new Promise<void>((resolve) =>
    other.on('message', (message) => received.push(message) === 500 && resolve()),
  );
  const sent = Array.from({ length: 500 }, (_each, sequence): BackboneMessage => ({
    type: 'lease',
    connection: sequence,
    bytes: Buffer.alloc(sequence),
  }));
  for (const message of sent) channel.send(message);
  await all;
  expect(received).toEqual(sent);
  const back = once(channel, 'message');
  other.send({ type: 'accepted', connection: 7 });
  expect(await back).toEqual([{ type: 'accepted', connection: 7 }]);
});

test('requests of clients travel on a connection of their own, which brings no messages', async () => {
  const channels: unknown[] = [];
  listener.on('channel', (channel) => channels.push(channel));
  const node = link({ use: 'requests' });
  await opened(node);
  const response = await node.client!.request({ method: 'POST', path: '/images/1', body: Buffer.from('body') });
  expect(response.headers['x-path']).toBe('/images/1');
  expect(await text(response)).toBe('body');
  expect(channels).toEqual([]);
});

test('a node that takes no runs says so', async () => {
  await once(link({ use: 'runs' }), 'close');
  expect(lines.join('')).toContain('it answered with the status 403');
});

test('a node that nobody knows is refused, and told what to do', async () => {
  for (const [stranger, expected] of [
    [{ key: NodeKey.generate() }, /known here by another key, ed25519:.*let `primary`/],
    [{ key: siteKey, name: 'other' }, /no node `other` is known here; let `primary`/],
  ] as const) {
    const node = link(stranger);
    const [reason] = (await once(node, 'close')) as [string];
    expect(reason).toMatch(expected);
    expect(node.client).toBeUndefined();
    expect(node.status()).toMatchObject({ peer: 'backend1', reason });
  }
});

test('a node with another key than the expected one is not talked to', async () => {
  const expected = NodeKey.generate().publicKey;
  const channels: unknown[] = [];
  listener.on('channel', (channel) => channels.push(channel));
  const node = link({ publicKey: expected });
  const [reason] = (await once(node, 'close')) as [string];
  expect(reason).toContain(`its key is not ${expected.toString()}`);
  expect(channels).toEqual([]);
});

test('who has the name and the public key of a node, and not its key, is refused', async () => {
  const client = await module.connectHttp3({
    host: '127.0.0.1',
    port: listener.address.port,
    serverName: 'backbone',
    publicKeyHashes: [backendKey.publicKey.hash],
    multipath: false,
  });
  open.push({ close: () => client.close() });
  const hello = encodeMessage({
    type: 'hello',
    version: backboneVersion,
    name: 'site',
    run: Buffer.alloc(runBytes),
    publicKey: siteKey.publicKey.bytes,
    signature: NodeKey.generate().sign(Buffer.from('x')),
  });
  const response = await client.request({ method: 'POST', path: backbonePaths.messages, body: hello });
  expect(await text(response)).toContain('the signature of `site` is wrong');
});

test('before a node has introduced itself, its requests are refused', async () => {
  const client = await module.connectHttp3({
    host: '127.0.0.1',
    port: listener.address.port,
    insecure: true,
    multipath: false,
  });
  open.push({ close: () => client.close() });
  const response = await client.request({ path: '/images/1' });
  expect(response.status).toBe(403);
  expect(await text(response)).toContain('has not introduced itself');
});

/** Cancels so many requests, some at a time, or fewer if the connection closes. */
async function cancel(client: Http3Client, count: number): Promise<void> {
  const forever = async function* () {
    yield 'begun';
    await new Promise(() => undefined);
  };
  const cancelOne = async (): Promise<void> => {
    const controller = new AbortController();
    const response = await client.request({
      method: 'POST',
      path: '/',
      body: forever(),
      signal: controller.signal,
    });
    response.on('error', () => undefined);
    controller.abort();
  };
  let alive = true;
  for (let done = 0; done < count && alive; done += 50) {
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, cancelOne));
    alive = outcomes.some(({ status }) => status === 'fulfilled');
  }
}

test('a node may cancel requests for all of its clients, and a stranger as many as a client', async () => {
  await listener.close();
  listener = await listen(0, backendKey, 600_000);
  const node = link({ use: 'requests' });
  await opened(node);
  await cancel(node.client!, 1_500);
  expect((await node.client!.request({ path: '/still' })).headers['x-path']).toBe('/still');

  const stranger = await module.connectHttp3({
    host: '127.0.0.1',
    port: listener.address.port,
    insecure: true,
    multipath: false,
  });
  open.push({ close: () => stranger.close().catch(() => undefined) });
  const closed = once(stranger, 'close');
  // 100 a second are permitted, and a machine may be slow.
  void cancel(stranger, Number.POSITIVE_INFINITY);
  expect(await closed).toEqual([expect.objectContaining({ message: expect.stringContaining('EXCESSIVE') as string })]);
});

test('who connects and says nothing, or asks for something else, does not stay; nodes do', async () => {
  await listener.close();
  listener = await listen(0, backendKey, 500);
  const channel = await opened(link());
  const strangers = await Promise.all(
    [0, 1].map(() =>
      module.connectHttp3({
        host: '127.0.0.1',
        port: listener.address.port,
        insecure: true,
        multipath: false,
        keepAliveMs: 100,
      }),
    ),
  );
  const gone = strangers.map((client) => once(client, 'close'));
  await strangers[0]!.request({ path: '/images/1' });
  await Promise.all(gone);
  expect(channel.closed).toBe(false);
});

test('an introduction cannot be used again, nor passed on to another node', async () => {
  // A node that is called in good faith, and hands on what it was given.
  const signatures: Buffer[] = [];
  const nonces: Buffer[] = [];
  const { introduction } = await import('../../../src/multi_end/backbone/authentication.js');
  const nonce = Buffer.alloc(32, 1);
  const session = Buffer.alloc(16, 2);
  const greedy = NodeKey.generate();
  signatures.push(
    siteKey.sign(introduction({ nonce, session, called: greedy.publicKey, caller: siteKey.publicKey, name: 'site' })),
  );
  nonces.push(nonce);
  const forThisBackend = introduction({
    nonce,
    session,
    called: backendKey.publicKey,
    caller: siteKey.publicKey,
    name: 'site',
  });
  expect(siteKey.publicKey.verifies(forThisBackend, signatures[0]!)).toBe(false);
  const again = introduction({
    nonce: Buffer.alloc(32, 3),
    session,
    called: backendKey.publicKey,
    caller: siteKey.publicKey,
    name: 'site',
  });
  expect(siteKey.publicKey.verifies(again, siteKey.sign(forThisBackend))).toBe(false);
});

test('a node comes back by itself after the other one was restarted', async () => {
  const { port } = listener.address;
  const node = link({ port: () => port });
  await opened(node);
  const closed = once(node, 'close');
  await listener.close();
  await closed;
  expect(node.client).toBeUndefined();
  listener = await listen(port);
  await opened(node);
  expect((await node.client!.request({ path: '/again' })).headers['x-path']).toBe('/again');
});

test('nonsense costs the caller its connection and nobody else anything', async () => {
  const good = link();
  const channel = await opened(good);
  const client = await module.connectHttp3({
    host: '127.0.0.1',
    port: listener.address.port,
    insecure: true,
    multipath: false,
  });
  open.push({ close: () => client.close().catch(() => undefined) });
  const response = await client.request({
    method: 'POST',
    path: backbonePaths.messages,
    body: Buffer.from('ffffffff00', 'hex'),
  });
  expect(await text(response)).toContain('broke the protocol');
  expect(channel.closed).toBe(false);
});

test('no key is in the log', async () => {
  await opened(link());
  link({ key: NodeKey.generate() });
  await once(open.at(-1) as BackboneLink, 'close');
  const written = lines.join('');
  expect(written).toContain('connected to a node');
  for (const key of [siteKey, backendKey]) expect(written).not.toContain(key.seed().toString('base64url'));
  expect(written).not.toContain('PRIVATE KEY');
});

async function text(response: ClientResponse): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test('a node whose place another process takes is called anew, and answers what it was asked', async () => {
  const node = link({ use: 'requests' });
  const first = await opened(node);
  const body = new PassThrough();
  body.write('begin ');
  const response = await node.client!.request({ method: 'POST', path: '/images/1', body });
  const farewell = once(node, 'close');
  listener.retire();
  expect(await farewell).toEqual(['another process has taken the place of this one']);
  expect(await opened(node)).not.toBe(first);
  const other = await node.client!.request({ method: 'POST', path: '/images/2', body: Buffer.from('other') });
  expect(await text(other)).toBe('other');
  // Longer than a node that is dismissed may stay
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  body.end('end');
  expect(await text(response)).toBe('begin end');
});
