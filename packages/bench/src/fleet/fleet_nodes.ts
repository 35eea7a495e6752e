import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  createNodeKey,
  formatSecrets,
  nodeKeyFile,
  renewSecrets,
  UserError,
  type FrontNodeStatus,
} from '@sheaf/gateway';
import { randomBytes, seededRandom } from '../pages/content/random.js';
import { ChildProgram } from './child_program.js';
import { freePorts } from './free_ports.js';

/** Name of the fleet, and of its bucket in NATS */
export const site = 'bench';
/** Pairs of a gateway and a backend */
const pairs = [1, 2, 3];
const startMs = 60_000;
const statusMs = 5_000;
const smallBytes = 1_000;
/** Files are older than this, so that their entity tags are strong. */
const age = new Date('2020-01-01T00:00:00Z');

const program = join(dirname(fileURLToPath(import.meta.resolve('@sheaf/cli'))), '..', 'bin', 'sheaf.js');

interface Ports {
  listen: number;
  admin: number;
  backbone: number;
  forward: number;
}

/** A process of `sheaf up` with one node */
export class FleetNode extends ChildProgram {
  /** How often it was started. A process of an earlier start is gone with its connections. */
  starts = 0;

  constructor(
    name: string,
    readonly role: 'gateway' | 'backend',
    readonly ports: Ports,
    file: string,
  ) {
    super(name, [process.execPath, program, 'up', file]);
  }

  override start(): void {
    this.starts += 1;
    super.start();
  }

  /** Returns what the node tells of itself; undefined when it does not answer. */
  async status(): Promise<FrontNodeStatus | undefined> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.ports.admin}/status`, {
        signal: AbortSignal.timeout(statusMs),
      });
      return (await response.json()) as FrontNodeStatus;
    } catch {
      return undefined;
    }
  }

  /** Waits until the node serves. @throws UserError when it ends, or takes longer than a minute */
  async untilServing(): Promise<void> {
    await this.prints(/\bready\b/);
    const end = performance.now() + startMs;
    while ((await this.status())?.state !== 'serving') {
      if (performance.now() > end) throw new UserError('BENCH_FAILED', `${this.name} does not serve after a minute`);
      await sleep(100);
    }
  }
}

/** What the clients of the fleet ask for */
export interface Site {
  large: Buffer;
  small: Buffer;
}

export interface FleetOptions {
  directory: string;
  nats: readonly string[];
  seed: number;
  /** Idle time of connections in seconds */
  idle: number;
  /** Size of a download in bytes */
  bytes: number;
}

/** Three gateways with a backend each, which know each other by keys and find each other by NATS */
export interface Nodes {
  gateways: FleetNode[];
  backends: FleetNode[];
  site: Site;
}

interface Member {
  name: string;
  role: 'gateway' | 'backend';
  number: number;
  directory: string;
  ports: Ports;
  publicKey: string;
}

/** Writes directories with keys and configurations. Nothing is started. */
export async function makeNodes(options: FleetOptions): Promise<Nodes> {
  const { directory, bytes, seed } = options;
  const files = join(directory, 'site');
  await mkdir(files, { recursive: true });
  const random = seededRandom(`fleet ${seed}`);
  const content: Site = { large: randomBytes(bytes, random), small: randomBytes(smallBytes, random) };
  for (const name of ['large', 'small'] as const) {
    await writeFile(join(files, name), content[name]);
    await utimes(join(files, name), age, age);
  }
  await writeFile(join(directory, 'secrets'), formatSecrets(renewSecrets([])), { mode: 0o600 });
  const members: Member[] = [];
  for (const role of ['gateway', 'backend'] as const)
    for (const number of pairs) members.push(await makeMember(directory, role, number));
  const nodes = await Promise.all(members.map((member) => makeNode(member, members, options)));
  return {
    gateways: nodes.filter(({ role }) => role === 'gateway'),
    backends: nodes.filter(({ role }) => role === 'backend'),
    site: content,
  };
}

async function makeMember(directory: string, role: Member['role'], number: number): Promise<Member> {
  const name = `${role}${number}`;
  const own = join(directory, name);
  await mkdir(join(own, 'who'), { recursive: true });
  await writeFile(join(own, 'who', 'name'), name);
  const { publicKey } = await createNodeKey(nodeKeyFile(own, name));
  const [listen = 0, admin = 0, backbone = 0, forward = 0] = await freePorts(4);
  const ports = { listen, admin, backbone, forward };
  return { name, role, number, directory: own, ports, publicKey: publicKey.toString() };
}

async function makeNode(member: Member, members: readonly Member[], options: FleetOptions): Promise<FleetNode> {
  const { name, role, directory, ports } = member;
  const file = join(directory, 'sheaf.yaml');
  const others = members.filter((other) => other !== member);
  const nodes = Object.fromEntries(others.map((other) => [other.name, other.publicKey]));
  const partner = others.find(({ number }) => number === member.number)!;
  const registry = { nats: preferring(options.nats, member.number), site, nodes };
  const node = role === 'gateway' ? gatewayOf(member, partner, options) : backendOf(member, partner, options);
  // JSON is YAML as well.
  await writeFile(file, JSON.stringify({ registry, nodes: { [name]: node } }, null, 2));
  return new FleetNode(name, role, ports, file);
}

/** Nodes name different servers first, so that each server has some of them. */
const preferring = (urls: readonly string[], first: number): string[] =>
  urls.map((_, index) => urls[(index + first) % urls.length]!);

const local = (port: number): string => `127.0.0.1:${port}`;

const common = ({ ports, number }: Member, { directory }: FleetOptions): Record<string, unknown> => ({
  listen: local(ports.listen),
  admin: local(ports.admin),
  backbone: local(ports.backbone),
  secrets: join(directory, 'secrets'),
  log: { level: 'warn', access: false, file: './log' },
  connection_ids: { server_id: `0${number}` },
});

function gatewayOf(member: Member, { name, publicKey }: Member, options: FleetOptions): Record<string, unknown> {
  return {
    role: 'gateway',
    ...common(member, options),
    forward: { listen: local(member.ports.forward), first_packets: 'shared' },
    limits: { idle: `${options.idle}s` },
    backends: [{ name, public_key: publicKey }],
    routes: [
      { path: '/backend', backends: [name] },
      { path: '/who', files: './who' },
      { files: join(options.directory, 'site') },
    ],
  };
}

function backendOf(member: Member, { name, publicKey }: Member, options: FleetOptions): Record<string, unknown> {
  return {
    role: 'backend',
    ...common(member, options),
    connection_ids: { server_id: `1${member.number}` },
    primary: { name, public_key: publicKey },
    routes: [{ path: '/backend', files: join(options.directory, 'site') }],
  };
}
