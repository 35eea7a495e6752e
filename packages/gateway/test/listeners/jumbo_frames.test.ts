import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  createHttp3Server,
  createLinkRelay,
  type Http3Client,
  type LinkOptions,
  type PathStatus,
  type ServerConnection,
} from '@sheaf/native';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { ask, connect } from '../support/http3_client.js';

const jumbo = 8952;
const ordinary = 1452;

/** More than is sent before jumbo frames are tried. */
const body = Buffer.alloc(5 << 20, 'The quick brown fox jumps over the lazy dog. ');
const bodyHash = createHash('sha256').update(body).digest('hex');

/** A server, a client that may reach it through a link, and the path as the server sees it. */
async function start(link?: LinkOptions) {
  const certificate = await createDevCertificate(['localhost'], new Date());
  const server = createHttp3Server({ address: '127.0.0.1', port: 0, alpn: ['h3'], certificate });
  server.on('request', (_request, response) => response.end(body));
  const { port: serverPort } = await server.listen();
  onTestFinished(() => server.close(0));
  const accepted = once(server, 'connection') as Promise<[ServerConnection]>;
  const relay =
    link &&
    createLinkRelay({
      listen: { address: '127.0.0.1', port: 0 },
      target: { address: '127.0.0.1', port: serverPort },
      there: link,
      back: link,
    });
  if (relay) onTestFinished(() => relay.close());
  const client = await connect(relay?.listen().port ?? serverPort);
  const [connection] = await accepted;
  const path = (): PathStatus => connection.status().paths[0]!;
  return { client, relay, path };
}

async function download(client: Http3Client): Promise<void> {
  const { body: received } = await ask(client, { path: '/' });
  expect(createHash('sha256').update(received).digest('hex')).toBe(bodyHash);
}

/** Downloads until jumbo frames are found, or not tried any more: three probes may be lost to full buffers, too. */
async function downloadUntilFound(client: Http3Client, path: () => PathStatus): Promise<boolean> {
  for (let downloads = 0; downloads < 10 && path().mtu !== jumbo; downloads += 1) await download(client);
  return path().mtu === jumbo;
}

describe('jumbo frames', () => {
  it('carry large downloads within a machine', async () => {
    let found = false;
    let shortest = Infinity;
    for (let connections = 0; connections < 5 && !found; connections += 1) {
      const { client, path } = await start();
      found = await downloadUntilFound(client, path);
      shortest = Math.min(shortest, path().minRttMs);
      await download(client);
      expect(client.status().paths[0]!.mtu, 'of the client, which sends little').toBeLessThanOrEqual(ordinary);
    }
    // A machine so busy that no round trip takes less than a millisecond does not try them.
    expect(found).toBe(shortest < 1);
  });

  it('end after three probes where the network has none', async () => {
    const { client, relay, path } = await start({ mtu: ordinary });
    for (let downloads = 0; downloads < 4; downloads += 1) await download(client);
    expect(path().mtu).toBeLessThanOrEqual(ordinary);
    expect(relay!.stats().back.tooLarge).toBeLessThanOrEqual(3);
  });

  it('may cease to arrive in the middle of a connection', async () => {
    const { client, relay, path } = await start({});
    await downloadUntilFound(client, path);
    relay!.setConfig({ mtu: ordinary }, { mtu: ordinary });
    await download(client);
    await download(client);
    expect(path().mtu).toBeLessThanOrEqual(ordinary);
  });
});
