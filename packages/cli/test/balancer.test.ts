import { createDecipheriv } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort, start } from './support/process.js';
import { sheaf, temporaryDirectory } from './support/world.js';

/** Two gateways of one fleet, each of which says its name at `/` */
const serverIds = ['0011223344556677', '8899aabbccddeeff'] as const;

interface Gateway {
  id: Buffer;
  port: number;
}

/** Length of what follows the first byte: a server id and a nonce of eight bytes each, one block of AES */
const routed = 16;

/**
 * A balancer of layer 4 that knows no connection. It finds the gateway in the connection id of a packet
 * (draft-ietf-quic-load-balancers-21 §5.5), and by the client's port when the client chose the id. It sends each
 * datagram from a socket that `source` chooses, so that gateways see clients whose addresses change.
 */
class Balancer {
  readonly #gateways: readonly Gateway[];
  readonly #serverId: (id: Buffer) => Buffer | undefined;
  readonly #front = createSocket('udp4');
  readonly #back: Socket[] = [];
  #client: { address: string; port: number } | undefined;
  /** Index of the socket from which it sends */
  source = 0;
  /** Datagrams that went by the id, and by the client's port */
  readonly counts = { byId: 0, byPort: 0 };

  constructor(gateways: readonly Gateway[], serverId: (id: Buffer) => Buffer | undefined) {
    this.#gateways = gateways;
    this.#serverId = serverId;
  }

  async listen(): Promise<number> {
    const sockets = [this.#front, createSocket('udp4'), createSocket('udp4')];
    for (const socket of sockets) {
      socket.bind(0, '127.0.0.1');
      await once(socket, 'listening');
      onTestFinished(() => void socket.close());
    }
    this.#back.push(...sockets.slice(1));
    this.#front.on('message', (datagram, client) => {
      this.#client = client;
      this.#back[this.source]?.send(datagram, this.#gatewayOf(datagram, client.port).port, '127.0.0.1');
    });
    for (const socket of this.#back)
      socket.on('message', (datagram) => {
        if (this.#client) this.#front.send(datagram, this.#client.port, this.#client.address);
      });
    return this.#front.address().port;
  }

  #gatewayOf(datagram: Buffer, port: number): Gateway {
    const isLong = ((datagram[0] ?? 0) & 0x80) !== 0;
    const id = isLong ? datagram.subarray(6, 6 + (datagram[5] ?? 0)) : datagram.subarray(1, 2 + routed);
    const server = id.length === 1 + routed ? this.#serverId(id) : undefined;
    const found = server && this.#gateways.find((gateway) => gateway.id.equals(server));
    if (found) {
      this.counts.byId += 1;
      return found;
    }
    this.counts.byPort += 1;
    const byPort = this.#gateways[port % this.#gateways.length];
    if (!byPort) throw new Error('there are no gateways');
    return byPort;
  }
}

async function startGateways(directory: string, encrypted: boolean): Promise<Gateway[]> {
  return Promise.all(
    serverIds.map(async (id, index): Promise<Gateway> => {
      const port = await freePort();
      await mkdir(join(directory, id));
      await writeFile(join(directory, id, 'index.html'), `gateway ${index}`);
      await writeFile(
        join(directory, `${id}.yaml`),
        `listen: 127.0.0.1:${port}\nsecrets: ./secrets\nlimits: { retry: always }\n` +
          `connection_ids: { server_id: '${id}', encrypted: ${encrypted} }\nroutes: [{ files: ./${id} }]\n`,
      );
      const running = start(['up', `${id}.yaml`], directory);
      await vi.waitFor(() => expect(running.out() + running.err()).toMatch(/ready|error/), 30_000);
      expect(running.err()).not.toContain('error[');
      return { id: Buffer.from(id, 'hex'), port };
    }),
  );
}

async function page(client: Http3Client): Promise<string> {
  const response = await client.request({ path: '/' });
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return text;
}

describe('behind a balancer that reads connection ids', () => {
  it.each([
    ['encrypted ones, with the key of `sheaf secrets --balancer`', true],
    ['plain ones', false],
  ])('connections keep their gateway when their addresses change: %s', async (_name, encrypted) => {
    const directory = await temporaryDirectory();
    await sheaf(['secrets', 'secrets'], directory);
    const printed = await sheaf(['secrets', 'secrets', '--balancer', '--json'], directory);
    const { keys } = JSON.parse(printed.out) as { keys: { number: number; key: string }[] };
    const gateways = await startGateways(directory, encrypted);
    const serverId = (id: Buffer): Buffer | undefined => {
      const rest = id.subarray(1);
      if (!encrypted) return rest.subarray(0, 8);
      const key = keys.find(({ number }) => number === (id[0] ?? 0) >> 5)?.key;
      if (key === undefined) return undefined;
      const cipher = createDecipheriv('aes-128-ecb', Buffer.from(key, 'hex'), null).setAutoPadding(false);
      return Buffer.concat([cipher.update(rest), cipher.final()]).subarray(0, 8);
    };
    const seen = new Set<string>();
    for (let attempt = 0; attempt < 20 && seen.size < gateways.length; ++attempt) {
      const balancer = new Balancer(gateways, serverId);
      const port = await balancer.listen();
      const client = await connectHttp3({ host: '127.0.0.1', port, insecure: true });
      onTestFinished(() => client.close().catch(() => undefined));
      const first = await page(client);
      seen.add(first);
      const { byPort } = balancer.counts;
      for (let i = 1; i < 6; ++i) {
        balancer.source = i % 2;
        expect(await page(client)).toBe(first);
      }
      // Once the client has ids of the gateway, none of its packets goes by its port.
      expect(balancer.counts.byPort).toBe(byPort);
      expect(balancer.counts.byId).toBeGreaterThan(0);
    }
    expect([...seen].sort()).toEqual(['gateway 0', 'gateway 1']);
  });

  it('keys are printed only when asked for, and the file stays as it is', async () => {
    const directory = await temporaryDirectory();
    await sheaf(['secrets', 'secrets'], directory);
    const once = await sheaf(['secrets', 'secrets', '--balancer'], directory);
    const twice = await sheaf(['secrets', 'secrets', '--balancer'], directory);
    expect(once.out).toMatch(/^0 [0-9a-f]{32}\n1 [0-9a-f]{32}\n$/);
    expect(twice.out).toBe(once.out);
  });
});
