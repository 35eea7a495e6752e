import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openSync, closeSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import {
  connectHttp3,
  createHttp3Server,
  encodeHead,
  offerDoubt,
  offerResponse,
  openExecutor,
  openReturnSocket,
  openRunOrders,
  revokeOffer,
  type Executor,
  type Http3Client,
  type Http3Server,
  type OfferRefusal,
  type ReturnLost,
  type RunOrders,
  type ServerRequest,
  type ServerResponse,
} from '@sheaf/native';
import { expect, it, onTestFinished } from 'vitest';
import { grantSource } from '../../src/direct_return/protocol/grant_source.js';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { collect } from '../support/client.js';
import { connect } from '../support/http3_client.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

const content = randomBytes(4_000_003);
const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A backend with one file, and the gateway's session with it. */
interface Backend {
  executor: Executor;
  orders: RunOrders;
  client: Http3Client;
}

/** What a gateway does that lets backends answer: every response is handed off. */
class Site {
  readonly backends: Backend[] = [];
  lost: ReturnLost[] = [];
  onLost: (response: ServerResponse, lost: ReturnLost, start: number) => void = (response) => void response.destroy();

  private constructor(
    readonly gateway: Http3Server,
    readonly port: number,
    private readonly file: number,
  ) {}

  static async start(backends: number): Promise<Site> {
    const path = join(await temporaryDirectory(), 'content');
    writeFileSync(path, content);
    const file = openSync(path, 'r');
    onTestFinished(() => closeSync(file));
    const certificate = await createDevCertificate(['localhost'], new Date());
    const gateway = createHttp3Server({
      address: '127.0.0.1',
      port: 0,
      alpn: ['h3'],
      certificate,
      sharesPort: true,
      offersResponses: true,
      multipath: true,
    });
    const { port } = await gateway.listen();
    onTestFinished(() => gateway.close(0));
    const site = new Site(gateway, port, file);
    gateway.on('request', (request, response) => {
      request.resume();
      void site.answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
    for (let i = 0; i < backends; i += 1) site.backends.push(await site.startBackend(i + 1));
    return site;
  }

  private async startBackend(session: number): Promise<Backend> {
    const socket = openReturnSocket({ from: { address: '127.0.0.1', port: this.port }, via: 'own-address' });
    onTestFinished(() => socket.close());
    const backendProcess = randomBytes(8);
    const certificate = await createDevCertificate(['localhost'], new Date());
    const server = createHttp3Server({ address: '127.0.0.1', port: 0, alpn: ['h3'], certificate, datagrams: true });
    onTestFinished(() => server.close(0));
    let executor: Executor | undefined;
    server.on('request', (request, response) => {
      if (request.url === '/runs') {
        executor = openExecutor(request, { session, process: backendProcess, sockets: [socket] });
        response.writeHead(200);
        response.write('the channel is open');
        return;
      }
      if (request.url === '/offer-of-a-node') {
        expect(() => offerResponse(request, this.backends[1]!.orders)).toThrow('offersResponses');
        response.end('no grant');
        return;
      }
      const head = encodeHead(200, { 'content-length': content.length, 'x-backend': session });
      const grant = Buffer.from(String(request.headers['grant']), 'base64');
      executor!.accept(grant, { head: head!, length: content.length, from: { descriptor: this.file, position: 0 } });
      expect(grant.every((byte) => byte === 0)).toBe(true);
      response.end(head);
    });
    const { port } = await server.listen();
    const client = await connectHttp3({ host: '127.0.0.1', port, insecure: true, datagrams: true });
    onTestFinished(() => client.close());
    const body = new PassThrough();
    onTestFinished(() => void body.end());
    const channel = await client.request({ method: 'POST', path: '/runs', body });
    const orders = openRunOrders(channel, { session, process: randomBytes(8), backendProcess });
    return { executor: executor!, orders, client };
  }

  private async answer(request: ServerRequest, response: ServerResponse): Promise<void> {
    const { orders, client } = this.backends[Number(request.url.slice(1))]!;
    const grant = granted(offerResponse(request, orders));
    const accepted = await client.request({ path: request.url, headers: { grant: grant.toString('base64') } });
    const start = response.handOff(await collect(accepted), content.length);
    response.on('returnLost', (lost: ReturnLost) => {
      this.lost.push(lost);
      this.onLost(response, lost, start);
    });
  }
}

function granted(offered: Buffer | OfferRefusal): Buffer {
  if (typeof offered === 'string') throw new Error(`no grant: ${offered}`);
  return offered;
}

it('brings responses from three backends over one connection, and their bodies never cross the gateway', async () => {
  const site = await Site.start(3);
  const client = await connect(site.port);
  const answers = await Promise.all(
    [0, 1, 2, 0, 1, 2].map(async (backend) => {
      const response = await client.request({ path: `/${backend}`, authority: 'localhost' });
      return { backend, from: response.headers['x-backend'], body: await collect(response) };
    }),
  );
  for (const { backend, from, body } of answers) {
    expect(from).toBe(String(backend + 1));
    expect(hash(body)).toBe(hash(content));
  }
  expect(site.lost).toEqual([]);
  expect(site.gateway.counters().bytesSent).toBeLessThan(content.length / 10);
  for (const { executor } of site.backends) expect(executor.stats()!.bytes).toBeGreaterThan(2 * content.length);
});

// The keys in a grant would be those of two nodes.
it('offers no response of a connection between nodes', async () => {
  const site = await Site.start(2);
  const [asked, other] = site.backends;
  const response = await asked!.client.request({ path: '/offer-of-a-node' });
  expect(await collect(response)).toEqual(Buffer.from('no grant'));
  expect(other!.executor.stats()!.grants).toBe(0);
  const client = await connect(site.port);
  expect(hash(await collect(await client.request({ path: '/1', authority: 'localhost' })))).toBe(hash(content));
});

it('forgets a response once the client has it', async () => {
  const site = await Site.start(1);
  const client = await connect(site.port);
  await collect(await client.request({ path: '/0', authority: 'localhost' }));
  const { executor } = site.backends[0]!;
  await expect.poll(() => executor.stats()!.grants).toBe(0);
});

it('goes on by itself when the session with a backend ends', async () => {
  const site = await Site.start(1);
  site.onLost = (response, { acknowledged }, start) => {
    const from = Math.max(acknowledged, start);
    response.writeInstead(from, content.subarray(from - start), true);
  };
  const client = await connect(site.port, { maxStreamWindow: 200_000, initialStreamWindow: 200_000 });
  const response = await client.request({ path: '/0', authority: 'localhost' });
  await once(response, 'readable');
  site.backends[0]!.orders.close();
  expect(hash(await collect(response))).toBe(hash(content));
  expect(site.lost.map(({ reason }) => reason)).toEqual(['gone']);
});

it('resets a response whose backend is gone when nobody goes on', async () => {
  const site = await Site.start(1);
  const client = await connect(site.port, { maxStreamWindow: 200_000, initialStreamWindow: 200_000 });
  const response = await client.request({ path: '/0', authority: 'localhost' });
  await once(response, 'readable');
  site.backends[0]!.orders.close();
  await expect(collect(response)).rejects.toThrow();
});

it('refuses a grant that is malformed or for another process', async () => {
  const site = await Site.start(2);
  const { executor } = site.backends[0]!;
  const payload = { head: Buffer.of(0, 0, 0xd9), length: 1, from: Buffer.of(1) };
  expect(() => executor.accept(Buffer.alloc(10), payload)).toThrow('it is malformed');
  const grants: Buffer[] = [];
  site.gateway.removeAllListeners('request');
  site.gateway.on('request', (request, response) => {
    grants.push(granted(offerResponse(request, site.backends[1]!.orders)));
    revokeOffer(request, true);
    expect(offerDoubt(request)).toBe('none');
    response.end();
  });
  const client = await connect(site.port);
  await collect(await client.request({ path: '/', authority: 'localhost' }));
  expect(grantSource(grants[0]!)).toBe(`127.0.0.1:${site.port}`);
  expect(() => executor.accept(grants[0]!, payload)).toThrow('it was made for another process');
  expect(executor.stats()!.grants).toBe(0);
});

it('says why no backend may send a response', async () => {
  const site = await Site.start(1);
  const { orders } = site.backends[0]!;
  const offers: (string | undefined)[] = [];
  const offer = (request: ServerRequest): void => {
    const offered = offerResponse(request, orders);
    offers.push(typeof offered === 'string' ? offered : undefined);
  };
  site.gateway.removeAllListeners('request');
  site.gateway.on('request', (request, response) => {
    if (request.url === '/ended') orders.close();
    offer(request);
    if (request.url === '/taken') offer(request);
    revokeOffer(request, true);
    response.end();
  });
  const client = await connect(site.port, { multipath: true, localAddress: '127.0.0.1' });
  const get = async (path: string): Promise<unknown> => collect(await client.request({ path, authority: 'localhost' }));
  await get('/taken');
  await client.openPath({ local: '127.0.0.2' });
  await get('/paths');
  await get('/ended');
  expect(offers).toEqual([undefined, 'taken', 'paths', 'ended']);
});
