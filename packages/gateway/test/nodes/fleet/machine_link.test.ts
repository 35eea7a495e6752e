import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import {
  connectHttp3,
  createHttp3Server,
  openMachineLink,
  openWorkerGroup,
  type Http3Client,
  type MachineLink,
  type MachineLinkCounts,
  type ServerSecret,
} from '@sheaf/native';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { createDevCertificate } from '../../../src/tls/dev_certificate.js';
import { seededRandom } from '../../support/seeded_random.js';
import { startSprayingBalancer } from '../../support/spraying_balancer.js';

const bytes = 200_000;
let certificate: Awaited<ReturnType<typeof createDevCertificate>>;
beforeAll(async () => {
  certificate = await createDevCertificate(['localhost'], new Date());
});

interface Machine {
  number: number;
  port: number;
  serverId: Buffer;
  link: MachineLink;
  stop(): Promise<void>;
}

async function startMachine(number: number, secrets: readonly ServerSecret[], sharesFirst = true): Promise<Machine> {
  const serverId = Buffer.from([0, number]);
  const group = openWorkerGroup({
    workers: 1,
    addresses: [{ address: '127.0.0.1', port: 0 }],
    serverId: { id: serverId },
  });
  const server = createHttp3Server({
    address: '127.0.0.1',
    port: 0,
    certificate,
    alpn: ['h3'],
    secrets,
    serverId: { id: serverId },
    resetScope: serverId.toString('hex'),
    worker: { group: group.number, index: 0 },
  });
  server.on('request', (request, response) => {
    request.resume();
    response.writeHead(200, { 'x-machine': String(number) }).end(Buffer.alloc(bytes, number));
  });
  const { port } = await server.listen();
  const link = openMachineLink({
    address: '127.0.0.1',
    port: 0,
    group,
    serverId: { id: serverId },
    secrets,
    sharesFirst,
  });
  const stop = async (): Promise<void> => {
    link.close();
    await server.close();
    group.close();
  };
  onTestFinished(stop);
  return { number, port, serverId, link, stop };
}

function introduce(machines: readonly Machine[]): void {
  for (const { link, number } of machines) {
    link.setMachines(
      machines
        .filter((other) => other.number !== number)
        .map(({ serverId, link: { address } }) => ({ serverId, address: address.address, port: address.port })),
    );
  }
}

async function startFleet(sharesFirst = true): Promise<Machine[]> {
  const secrets = [{ number: 3, secret: randomBytes(32) }];
  const machines = await Promise.all([1, 2, 3].map((number) => startMachine(number, secrets, sharesFirst)));
  introduce(machines);
  return machines;
}

const targets = (machines: readonly Machine[]) => machines.map(({ port }) => ({ address: '127.0.0.1', port }));

async function connect(port: number): Promise<Http3Client> {
  const client = await connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true });
  onTestFinished(() => client.close());
  return client;
}

/** Returns the machine that answered. */
async function download(client: Http3Client): Promise<string> {
  const response = await client.request({ method: 'GET', path: '/' });
  let received = 0;
  for await (const chunk of response) received += (chunk as Buffer).length;
  expect(received).toBe(bytes);
  return String(response.headers['x-machine']);
}

it('connections live behind a balancer that sprays datagrams over all machines, while their addresses change', async () => {
  const machines = await startFleet();
  const balancer = await startSprayingBalancer(targets(machines), seededRandom(1));
  const clients = await Promise.all(Array.from({ length: 12 }, () => connect(balancer.port)));
  const owners = await Promise.all(clients.map(download));
  expect(new Set(owners).size).toBeGreaterThan(1);
  for (let round = 0; round < 3; round++) {
    balancer.rebind();
    expect(await Promise.all(clients.map(download))).toEqual(owners);
  }
  for (const count of balancer.counts) expect(count).toBeGreaterThan(0);
  const sum = (count: keyof MachineLinkCounts): number =>
    machines.reduce((total, { link }) => total + link.counts()[count], 0);
  expect(sum('received')).toBeGreaterThan(0);
  expect(sum('sent')).toBeGreaterThanOrEqual(sum('received'));
  expect(sum('refused') + sum('dropped')).toBe(0);
});

it('a machine that ends costs its own connections alone, and new ones go to those that are left', async () => {
  const machines = await startFleet();
  const balancer = await startSprayingBalancer(targets(machines), seededRandom(1));
  const clients = await Promise.all(Array.from({ length: 12 }, () => connect(balancer.port)));
  const owners = await Promise.all(clients.map(download));
  const [ended, ...left] = machines as [Machine, Machine, Machine];
  await ended.stop();
  introduce(left);
  balancer.setTargets(targets(left));
  const after = await Promise.all(clients.filter((_, index) => owners[index] !== String(ended.number)).map(download));
  expect(after).toEqual(owners.filter((owner) => owner !== String(ended.number)));
  const more = await Promise.all(Array.from({ length: 12 }, () => connect(balancer.port)));
  expect(await Promise.all(more.map(download))).not.toContain(String(ended.number));
});

it('takes nothing that no machine of the fleet has sealed for it', async () => {
  const [first, second] = (await startFleet(false)) as [Machine, Machine, Machine];
  const stranger = await startMachine(9, [{ number: 3, secret: randomBytes(32) }]);
  // A machine with other secrets that takes itself for one of the fleet
  const { address } = first.link;
  stranger.link.setMachines([{ serverId: first.serverId, address: address.address, port: address.port }]);
  for (let i = 0; i < 20; i++) {
    await connectHttp3({ host: '127.0.0.1', port: stranger.port, alpn: ['h3'], insecure: true, connectTimeoutMs: 300 })
      .then((client) => client.close())
      .catch(() => undefined);
    if (first.link.counts().refused > 0) break;
  }
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  for (let size = 0; size < 1500; size += 13) socket.send(Buffer.alloc(size, 1), address.port, address.address);
  await expect.poll(() => first.link.counts().refused, { timeout: 10_000 }).toBeGreaterThan(20);
  expect(first.link.counts().received).toBe(0);
  expect(await download(await connect(second.port))).toBe(String(second.number));
});

it('refuses options that lead nowhere', async () => {
  const [first] = (await startFleet()) as [Machine, Machine, Machine];
  expect(() => first.link.setMachines([{ serverId: Buffer.from([1]), address: '127.0.0.1', port: 1 }])).toThrow(
    'server ids of one length',
  );
  expect(() => first.link.setMachines([{ serverId: Buffer.from([0, 2]), address: 'machine', port: 1 }])).toThrow(
    'not an IP address',
  );
  expect(() => first.link.updateSecrets([])).toThrow('share `secrets`');
});
