import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { Pipelines } from '../../src/listeners/pipelines.js';
import { startGateway } from '../support/gateway.js';
import { startUpstream } from '../support/upstream.js';

const count = 20;
const fieldBytes = 12_000;

interface Measured {
  client: Socket;
  /** The gateway's side of the connection. */
  socket?: Socket;
  seen: number;
  answered: number;
  mostAhead: number;
  /** Answers the first, and from then on each in its turn. */
  release(): void;
}

/** A server that answers in turn, and a client with many requests ahead of its first response. */
async function pipelined(): Promise<Measured> {
  const pipelines = new Pipelines();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const server = createServer((request, response) => {
    measured.socket = request.socket;
    measured.seen += 1;
    measured.mostAhead = Math.max(measured.mostAhead, measured.seen - measured.answered);
    pipelines.begin(request, response, () => {
      void released.then(() => {
        measured.answered += 1;
        response.end(`${request.url}\n`);
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const measured: Measured = { client, seen: 0, answered: 0, mostAhead: 0, release };
  for (let i = 0; i < count; i++)
    client.write(`GET /${i} HTTP/1.1\r\nhost: site\r\nx-large: ${'x'.repeat(fieldBytes)}\r\n\r\n`);
  return measured;
}

it('requests ahead of a response are read no further than 16 KB of their fields, and answered in order', async () => {
  const measured = await pipelined();
  let text = '';
  measured.client.on('data', (data: Buffer) => (text += data.toString('latin1')));
  await expect
    .poll(() => measured.socket?.isPaused() === true || measured.seen === count, { timeout: 30_000 })
    .toBe(true);
  measured.release();
  await expect.poll(() => text.match(/^\/\d+$/gm)?.length, { timeout: 30_000 }).toBe(count);
  expect(text.match(/^\/\d+$/gm)).toEqual(Array.from({ length: count }, (_, i) => `/${i}`));
  // One in flight, two that wait, and what Node had read with them: 64 KB.
  expect(measured.mostAhead).toBeLessThanOrEqual(10);
});

it('a gateway that drains answers all that was pipelined before', async () => {
  const asked: ServerResponse[] = [];
  const { origin } = await startUpstream((_request, response) => void asked.push(response));
  const { gateway, port } = await startGateway(`routes: [{ upstream: "${origin}" }]`);
  const client = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  onTestFinished(() => void client.destroy());
  let text = '';
  client.on('error', () => undefined).on('data', (data: Buffer) => (text += data.toString('latin1')));
  client.write('GET /1 HTTP/1.1\r\nhost: site\r\n\r\nGET /2 HTTP/1.1\r\nhost: site\r\n\r\n');
  await expect.poll(() => asked.length, { timeout: 30_000 }).toBe(1);
  const closed = gateway.close(20_000);
  asked[0]!.end('first response');
  await expect.poll(() => asked.length, { timeout: 30_000 }).toBe(2);
  // While it drains, a gateway closes connections without a request several times a second.
  await sleep(300);
  asked[1]!.end('second response');
  await closed;
  await expect.poll(() => text, { timeout: 30_000 }).toContain('second response');
});

it('it is not the turn of a client that waits for 100 before it sends its body', async () => {
  const pipelines = new Pipelines();
  let confirm = (): void => undefined;
  const server = createServer().listen(0, '127.0.0.1');
  server.on('checkContinue', (request, response) => {
    confirm = pipelines.holdBody(request, () => response.writeContinue());
    pipelines.begin(request, response, () => {
      request.resume().on('end', () => response.end('taken'));
    });
  });
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const asked = once(server, 'checkContinue') as Promise<[IncomingMessage]>;
  client.write('POST / HTTP/1.1\r\nhost: site\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n');
  const [{ socket }] = await asked;
  expect(pipelines.turnOf(socket)).toBeUndefined();
  confirm();
  expect(pipelines.turnOf(socket)).toBe('exchange');
  const [answer] = (await once(client, 'data')) as [Buffer];
  expect(answer.toString()).toContain('100 Continue');
  client.write('body');
  await expect.poll(() => pipelines.turnOf(socket), { timeout: 30_000 }).toBe('request');
});
