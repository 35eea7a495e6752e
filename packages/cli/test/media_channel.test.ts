import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { EdgeStatus } from '@sheaf/gateway';
import { expect, it, onTestFinished, vi } from 'vitest';
import { NetworkNamespace } from './support/network_namespace.js';
import { temporaryDirectory } from './support/world.js';

const program = fileURLToPath(new URL('../bin/sheaf.js', import.meta.url));
const peer = fileURLToPath(new URL('support/moq_peer.mjs', import.meta.url));
const receiver = fileURLToPath(new URL('support/channel_peer.mjs', import.meta.url));

const missing = NetworkNamespace.missing();
if (missing !== undefined) console.warn(`skipped: live media over channels between network namespaces: ${missing}`);

/** Milliseconds for processes on a busy machine */
const patience = 60_000;

/** The hosts of a gateway and of an edge, with a switch between them */
function makeNetwork() {
  const hosts = [NetworkNamespace.make(), NetworkNamespace.make(), NetworkNamespace.make()] as const;
  onTestFinished(async () => void (await Promise.all(hosts.map((host) => host.remove()))));
  const [center, laptop, middle] = hosts;
  middle.run('link add tree type bridge mcast_snooping 0');
  middle.run('link set tree up');
  for (const [host, port, number] of [
    [center, 'root', 1],
    [laptop, 'leaf', 2],
  ] as const) {
    middle.run(`link add ${port} type veth peer name wire netns ${host.id}`);
    middle.run(`link set ${port} master tree`);
    middle.run(`link set ${port} up`);
    host.run(`addr add 10.98.0.${number}/24 dev wire`);
    host.run('link set wire up');
  }
  /** Lets packets to groups pass, or not. */
  const setTree = (state: 'on' | 'off'): void => middle.run(`link set leaf type bridge_slave mcast_flood ${state}`);
  return { center, laptop, setTree };
}

type Host = ReturnType<typeof makeNetwork>['center'];

interface Site {
  directory: string;
  center: Host;
  laptop: Host;
  setTree(state: 'on' | 'off'): void;
}

const command = ({ enter: [enter = '', ...rest] }: Host, ...words: string[]): [string, string[]] => [
  enter,
  [...rest, process.execPath, ...words],
];

function start(directory: string, ...words: ReturnType<typeof command>): ChildProcess {
  const child = spawn(...words, { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function startNode({ directory }: Pick<Site, 'directory'>, host: Host, node: string): Promise<ChildProcess> {
  const child = start(directory, ...command(host, program, 'up', `${node}/sheaf.yaml`));
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`the ${node} did not start`)));
  ended.catch(() => undefined);
  await Promise.race([once(child.stdout!, 'data'), ended]);
  return child;
}

/** A gateway and an edge, each on its host; `media` are further keys of the edge's prefix, and `idle` is a limit of the gateway. */
async function startSite(channel: string, { media = '', idle = '30s' } = {}) {
  const site: Site = { directory: await temporaryDirectory(), ...makeNetwork() };
  const write = async (node: string, lines: string[]): Promise<void> => {
    await mkdir(join(site.directory, node));
    const keys = ['log: { level: silent }', ...lines].map((line) => `    ${line}`);
    await writeFile(join(site.directory, node, 'sheaf.yaml'), ['nodes:', `  ${node}:`, ...keys, ''].join('\n'));
  };
  await write('gateway', [
    'role: gateway',
    'listen: 10.98.0.1:4433',
    `limits: { idle: ${idle} }`,
    `channels: { live: ${channel} }`,
    'routes: [{ path: /live, media: { publish: everybody, channel: live } }, { path: /channel, channel: live }]',
  ]);
  await write('edge', [
    'role: edge',
    // Viewers stay while the address of the host changes.
    'listen: 127.0.0.1:4433',
    'admin: 127.0.0.1:9433',
    'gateway: { address: "10.98.0.1:4433", certificate: insecure }',
    `media: [{ path: /live, channel: /channel ${media} }]`,
  ]);
  const gateway = await startNode(site, site.center, 'gateway');
  const edge = await startNode(site, site.laptop, 'edge');
  return { ...site, gateway, edge };
}

/** What a publisher sent, or a viewer got: the hash of each frame by `group:index` */
class Frames {
  readonly hashes = new Map<string, string>();

  constructor(child: ChildProcess) {
    createInterface(child.stdout!).on('line', (line) => {
      // `@moq/net` logs, too.
      if (!line.startsWith('{')) return;
      const { group, frame, sha256 } = JSON.parse(line) as { group: number; frame: number; sha256: string };
      this.hashes.set(`${group}:${frame}`, sha256);
    });
  }

  /** Number of the newest group */
  get newest(): number {
    return Math.max(-1, ...this.#groups());
  }
  get oldest(): number {
    return Math.min(...this.#groups());
  }
  /** Waits until a group has begun that is so many groups behind the newest one now, or behind the first one. */
  async goOn(groups: number): Promise<void> {
    await vi.waitFor(() => expect(this.newest).toBeGreaterThanOrEqual(0), patience);
    const until = this.newest + groups;
    await vi.waitFor(() => expect(this.newest).toBeGreaterThanOrEqual(until), patience);
  }

  /** The frames of these groups */
  of(from: number, before: number): [string, string][] {
    return [...this.hashes].filter(([key]) => Number.parseInt(key) >= from && Number.parseInt(key) < before).sort();
  }

  #groups(): number[] {
    return [...this.hashes.keys()].map((key) => Number.parseInt(key));
  }
}

const startPeer = ({ directory }: Site, host: Host, task: string, address: string): Frames =>
  new Frames(start(directory, ...command(host, peer, task, address, '4433')));

const publishing = (site: Site): Frames => startPeer(site, site.center, 'publish', '10.98.0.1');
const watching = (site: Site): Frames => startPeer(site, site.laptop, 'watch', '127.0.0.1');

async function mediaOf({ laptop }: Site): Promise<NonNullable<EdgeStatus['media']>[number]> {
  const { stdout } = await promisify(execFile)(
    ...command(laptop, program, 'status', '--admin', '127.0.0.1:9433', '--json'),
  );
  return (JSON.parse(stdout) as EdgeStatus).media![0]!;
}

async function reaches(site: Site, state: string): Promise<void> {
  await vi.waitFor(async () => expect((await mediaOf(site)).state).toBe(state), { timeout: patience, interval: 200 });
}

/** Waits until the group brings the edge more than it has now. */
async function hearsGroup(site: Site): Promise<void> {
  await reaches(site, 'receiving');
  const { fromGroup } = await mediaOf(site);
  await vi.waitFor(async () => expect((await mediaOf(site)).fromGroup).toBeGreaterThan(fromGroup), {
    timeout: patience,
    interval: 200,
  });
}

/** Kills a node, and starts it again. */
async function restart(site: Site, host: Host, node: 'gateway' | 'edge', running: ChildProcess): Promise<void> {
  running.kill('SIGKILL');
  await once(running, 'close');
  await startNode(site, host, node);
}

/** Gives the edge's host another address in place of the one that it has. */
function changeAddress({ laptop }: Site): void {
  // In another prefix, or it would go with the first address of the prefix.
  laptop.run('addr add 10.98.0.3/16 dev wire');
  laptop.run('addr del 10.98.0.2/24 dev wire');
}

/** Another receiver beside the edge joins the channel, reaches a state, and leaves. */
async function joinAndLeave({ directory, laptop }: Site, state: string): Promise<void> {
  const child = start(directory, ...command(laptop, receiver, '10.98.0.1', '4433', '/channel'));
  await new Promise<void>((resolve, reject) => {
    child.once('close', () => reject(new Error('the receiver ended')));
    createInterface(child.stdout!).on('line', (line) => {
      if (line === JSON.stringify({ state })) resolve();
    });
  });
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
}

/** Waits for the viewer to be as far as the publisher is now, and expects it to have every frame since its first group. */
async function expectAllFrames(sent: Frames, got: Frames): Promise<number> {
  const until = sent.newest;
  await vi.waitFor(() => expect(got.newest).toBeGreaterThan(until), patience);
  const from = got.oldest;
  expect(got.of(from, until)).toEqual(sent.of(from, until));
  return got.of(from, until).length;
}

const group = '{ group: "232.98.1.1:5498", source: 10.98.0.1 }';

it.skipIf(missing !== undefined)(
  'a viewer at an edge gets every frame while the group is cut and comes back',
  async () => {
    const site = await startSite(group);
    const sent = publishing(site);
    const got = watching(site);
    await reaches(site, 'receiving');
    await got.goOn(5);
    await hearsGroup(site);
    site.setTree('off');
    await reaches(site, 'unicast');
    await got.goOn(5);
    site.setTree('on');
    await hearsGroup(site);
    await got.goOn(5);
    expect(await expectAllFrames(sent, got)).toBeGreaterThan(100);
    const after = await mediaOf(site);
    expect(after).toMatchObject({ expired: 0, joined: 1, broadcasts: 1, viewers: 1, unreadable: 0 });
    expect(after.unicastShare).toBeGreaterThan(0);
    expect(after.unicastShare).toBeLessThan(1);
  },
  3 * patience,
);

it.skipIf(missing !== undefined)(
  'viewers miss no frame while keys change, others join and leave, the group is cut, and the edge moves and is restarted',
  async () => {
    const site = await startSite(
      '{ group: "232.98.1.1:5498", source: 10.98.0.1, key_interval: 1s, key_on_leaving: true }',
    );
    const sent = publishing(site);
    const got = watching(site);
    await hearsGroup(site);
    await joinAndLeave(site, 'receiving');
    site.setTree('off');
    await reaches(site, 'unicast');
    await joinAndLeave(site, 'joined');
    site.setTree('on');
    await hearsGroup(site);
    changeAddress(site);
    await got.goOn(5);
    await hearsGroup(site);
    await got.goOn(5);
    expect(await expectAllFrames(sent, got)).toBeGreaterThan(100);
    expect(await mediaOf(site)).toMatchObject({ expired: 0, joined: 1, unreadable: 0 });
    await restart(site, site.laptop, 'edge', site.edge);
    const again = watching(site);
    await hearsGroup(site);
    await again.goOn(5);
    expect(await expectAllFrames(sent, again)).toBeGreaterThan(20);
    expect(await mediaOf(site)).toMatchObject({ expired: 0, joined: 1, unreadable: 0 });
  },
  4 * patience,
);

it.skipIf(missing !== undefined).each([
  ['where the channel has no group', '{}', '', 'want'],
  ['where the edge does not join it', group, ', multicast: false', 'want'],
] as const)(
  'a viewer gets every frame %s',
  async (_name, channel, media, state) => {
    const site = await startSite(channel, { media });
    const sent = publishing(site);
    const got = watching(site);
    await got.goOn(8);
    expect(await expectAllFrames(sent, got)).toBeGreaterThan(50);
    expect(await mediaOf(site)).toMatchObject({ state, fromGroup: 0, unicastShare: 1, expired: 0 });
  },
  3 * patience,
);

it.skipIf(missing !== undefined)(
  'an edge joins again when its gateway is restarted',
  async () => {
    // So long the edge waits for a gateway that is gone.
    const site = await startSite(group, { idle: '5s' });
    await reaches(site, 'receiving');
    await restart(site, site.center, 'gateway', site.gateway);
    await vi.waitFor(async () => expect(await mediaOf(site)).toMatchObject({ state: 'receiving', joined: 2 }), {
      timeout: patience,
      interval: 200,
    });
    const sent = publishing(site);
    const got = watching(site);
    await got.goOn(5);
    expect(await expectAllFrames(sent, got)).toBeGreaterThan(20);
  },
  3 * patience,
);
