import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Http3Client } from '@sheaf/native';
import { expect, it, onTestFinished } from 'vitest';
import type { ForwardingStatus, FrontNodeStatus } from '../../../src/observability/status.js';
import { formatSecrets, renewSecrets } from '../../../src/tls/server_secrets.js';
import { createNodeKey, nodeKeyFile } from '../../../src/values/node_key.js';
import { ask, connect } from '../../support/http3_client.js';
import { freePort } from '../../support/nats_server.js';
import { seededRandom } from '../../support/seeded_random.js';
import { startSprayingBalancer, type SprayingBalancer } from '../../support/spraying_balancer.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';

const program = fileURLToPath(new URL('../../support/fleet_node.mjs', import.meta.url));
const hanging = fileURLToPath(new URL('../../support/hang_on_message.mjs', import.meta.url));
/** Longer than others need to miss a machine, and to find that it does not answer */
const hangMs = 6_000;
const patience = { timeout: 60_000, interval: 50 };
const names = ['g1', 'g2', 'g3'] as const;
type Name = (typeof names)[number];

interface Machine {
  listen: number;
  admin: number;
  process: ChildProcess;
  /** Leads the machine to another registry, where nobody is. */
  cutOff(): Promise<void>;
}

/** Three gateways, each a process with a way of its own to the registry, behind one address */
async function startMachines(): Promise<ReadonlyMap<string, Machine>> {
  const directory = await temporaryDirectory();
  const registry = join(directory, 'registry');
  await mkdir(registry);
  await writeFile(join(directory, 'secrets'), formatSecrets(renewSecrets([])), { mode: 0o600 });
  const keys = await Promise.all(
    names.map(async (name) => {
      const { publicKey } = await createNodeKey(nodeKeyFile(directory, name));
      return `${name}: "${publicKey.toString()}"`;
    }),
  );
  const started = names.map(async (name, index): Promise<[string, Machine]> => {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, 'name'), name);
    const way = join(directory, `registry-${name}`);
    await symlink(registry, way);
    const [listen, admin, forward] = [await freePort(), await freePort(), await freePort()];
    const addresses = `listen: "127.0.0.1:${listen}", admin: "127.0.0.1:${admin}", workers: 2, forward: { listen: "127.0.0.1:${forward}", first_packets: shared }`;
    const others = keys.filter((_, other) => other !== index).join(', ');
    const file = join(directory, `${name}.yaml`);
    await writeFile(
      file,
      `registry: { file: ${way}, nodes: { ${others} } }
nodes: { ${name}: { role: gateway, ${addresses}, secrets: ./secrets, connection_ids: { server_id: "0${index + 1}" }, routes: [{ files: ./${name} }] } }
`,
    );
    const child = spawn(process.execPath, ['--import', hanging, program, file, name], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout!, 'data');
    const cutOff = async (): Promise<void> => {
      const empty = join(directory, `empty-${name}`);
      await mkdir(empty);
      await rm(way);
      await symlink(empty, way);
    };
    return [name, { listen, admin, process: child, cutOff }];
  });
  return new Map(await Promise.all(started));
}

async function statusOf(machine: Machine): Promise<FrontNodeStatus> {
  const response = await fetch(`http://127.0.0.1:${machine.admin}/status`);
  return (await response.json()) as FrontNodeStatus;
}

const forwardingOf = async (machine: Machine): Promise<ForwardingStatus | undefined> =>
  (await statusOf(machine)).forwarding;

/** A client that asks all the time which machine it has */
interface Asker {
  machine: Name;
  /** Responses that it got */
  answers: number;
  /** Settles with the reason once its connection is closed. */
  closed: Promise<unknown>;
  isClosed: boolean;
}

async function startAsker(balancer: SprayingBalancer): Promise<Asker> {
  const client = await connect(balancer.port);
  const machine = (await machineOf(client)) as Name;
  let open = true;
  onTestFinished(() => void (open = false));
  const asker: Asker = { machine, answers: 0, isClosed: false, closed: Promise.resolve() };
  asker.closed = (async () => {
    while (open) {
      const answered = await machineOf(client).catch((error: unknown) => error);
      if (answered !== machine) return answered;
      asker.answers += 1;
      await sleep(50);
    }
    return undefined;
  })().finally(() => (asker.isClosed = true));
  return asker;
}

const machineOf = async (client: Http3Client): Promise<string> =>
  String((await ask(client, { method: 'GET', path: '/name' })).body);

it('survivors reset the connections of a machine that is killed, and of no machine that lives', async () => {
  const machines = await startMachines();
  const [g1, g2, g3] = names.map((name) => machines.get(name)!) as [Machine, Machine, Machine];
  const others = async (): Promise<unknown[]> =>
    Promise.all([g1, g2, g3].map(async (machine) => (await forwardingOf(machine))?.machines));
  await expect.poll(others, patience).toEqual([2, 2, 2]);
  const targets = [g1, g2, g3].map(({ listen }) => ({ address: '127.0.0.1', port: listen }));
  const balancer = await startSprayingBalancer(targets, seededRandom(1));
  const askers = await Promise.all(Array.from({ length: 18 }, () => startAsker(balancer)));
  const of = (name: Name): Asker[] => askers.filter(({ machine }) => machine === name);
  for (const name of names) expect(of(name).length).toBeGreaterThan(0);
  // By now each machine has answered the others.
  await sleep(2_000);

  const heldFor = (other: Name) => async (): Promise<unknown> =>
    (await statusOf(g1)).registry?.nodes.find(({ name }) => name === other)?.state;

  // A main thread hangs, and the workers serve.
  g3.process.send(hangMs);
  await expect.poll(heldFor('g3'), patience).toBe('suspect');
  const before = of('g3').map(({ answers }) => answers);
  await statusOf(g3);
  of('g3').forEach(({ answers }, index) => expect(answers).toBeGreaterThan(before[index]!));
  for (const { isClosed } of askers) expect(isClosed).toBe(false);

  // The registry alone loses sight of a machine.
  await g2.cutOff();
  await expect.poll(heldFor('g2'), patience).toBe('suspect');

  g3.process.kill('SIGKILL');
  balancer.setTargets(targets.slice(0, 2));
  const begin = performance.now();
  for (const asker of of('g3')) {
    const reason = await asker.closed;
    expect(String(reason)).toContain('STATELESS_RESET');
  }
  console.info(`clients of the killed machine heard so after ${Math.round(performance.now() - begin)} ms`);
  expect((await forwardingOf(g1))?.lostMachines).toBe(1);
  for (const name of ['g1', 'g2'] as const) for (const asker of of(name)) expect(asker.isClosed).toBe(false);
  // What was its share of new clients goes to the others.
  const more = await Promise.all(Array.from({ length: 6 }, () => startAsker(balancer)));
  for (const { machine } of more) expect(machine).not.toBe('g3');
});
