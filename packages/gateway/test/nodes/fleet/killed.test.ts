import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { FrontNodeStatus } from '../../../src/observability/status.js';
import { createNodeKey, nodeKeyFile } from '../../../src/values/node_key.js';
import { get } from '../../support/client.js';
import { freePort, startCluster, type NatsServer } from '../../support/nats_server.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';

const program = fileURLToPath(new URL('../../support/fleet_node.mjs', import.meta.url));
const patience = { timeout: 120_000, interval: 100 };
const gateways = ['g1', 'g2', 'g3'];
const backends = ['b1', 'b2', 'b3'];
const names = [...gateways, ...backends];

interface Node {
  listen: number;
  admin: number;
  process: ChildProcess;
}

/** Three gateways, of which the first has three backends, each a process of its own */
async function startFleet(servers: readonly NatsServer[]): Promise<ReadonlyMap<string, Node>> {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'site', 'a.txt'), 'a'.repeat(10_000));
  const ports = new Map<string, { listen: number; admin: number }>();
  const lines: string[] = [];
  for (const name of names) {
    const { publicKey } = await createNodeKey(nodeKeyFile(directory, name));
    const [listen, admin, backbone] = [await freePort(), await freePort(), await freePort()];
    ports.set(name, { listen, admin });
    const role = gateways.includes(name) ? 'gateway' : 'backend, primary: g1';
    const routes =
      name === 'g1'
        ? `backends: [${backends.join(', ')}], routes: [{ backends: [${backends.join(', ')}] }]`
        : 'routes: [{ files: ./site }]';
    const addresses = `listen: "127.0.0.1:${listen}", admin: "127.0.0.1:${admin}", backbone: "127.0.0.1:${backbone}"`;
    lines.push(`  ${name}: { role: ${role}, ${addresses}, public_key: "${publicKey.toString()}", ${routes} }`);
  }
  const file = join(directory, 'sheaf.yaml');
  const urls = servers.map(({ url }) => `"${url}"`).join(', ');
  await writeFile(file, `registry: { nats: [${urls}] }\nnodes:\n${lines.join('\n')}\n`);
  const started = names.map(async (name): Promise<[string, Node]> => {
    const child = spawn(process.execPath, [program, file, name], { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    return [name, { ...ports.get(name)!, process: child }];
  });
  return new Map(await Promise.all(started));
}

/** Nodes that each of these holds for alive, as one text for each opinion; none while one of them hears nothing */
async function opinions(fleet: ReadonlyMap<string, Node>, among: readonly string[]): Promise<string[]> {
  const told = among.map(async (name) => {
    const response = await fetch(`http://127.0.0.1:${fleet.get(name)!.admin}/status`);
    const { registry } = (await response.json()) as FrontNodeStatus;
    if (!registry?.connected || registry.ageSeconds === undefined || registry.ageSeconds > 1.5) return 'nothing';
    return registry.nodes.flatMap((node) => (node.state === 'alive' ? [node.name] : [])).join(' ');
  });
  return [...new Set(await Promise.all(told))];
}

it('one of three gateways, of three backends and of three registry servers is killed under load', async () => {
  const servers = await startCluster();
  const fleet = await startFleet(servers);
  const living = new Set(names);
  const agree = async (): Promise<void> => {
    const wanted = [...living].sort();
    await expect.poll(() => opinions(fleet, wanted), patience).toEqual([wanted.join(' ')]);
  };
  await agree();
  const served = new Map(gateways.map((name) => [name, 0]));
  const failures: string[] = [];
  const loading = gateways.map(async (name) => {
    while (living.has(name)) {
      const status = await get(fleet.get(name)!.listen, '/a.txt').then(
        (answer) => answer.status,
        (error: unknown) => String(error),
      );
      // What a killed gateway did not answer is no failure of the others.
      if (status === 200) served.set(name, served.get(name)! + 1);
      else if (living.has(name)) failures.push(`${name}: ${status}`);
      await sleep(10);
    }
  });
  await expect.poll(() => Math.min(...served.values())).toBeGreaterThan(0);
  const kill = async (what: string, act: () => unknown): Promise<void> => {
    const begin = performance.now();
    await act();
    // What was heard just before still counts as heard.
    await sleep(2_000);
    await agree();
    const count = [...served].map(([name, requests]) => `${name} ${requests}`).join(', ');
    console.info(
      `${what} killed: all agree after ${Math.round(performance.now() - begin)} ms; answered so far: ${count}; failed: ${failures.length}`,
    );
  };
  for (const name of ['g3', 'b2'])
    await kill(name, () => {
      living.delete(name);
      fleet.get(name)!.process.kill('SIGKILL');
    });
  await kill('a registry server', () => servers[0]!.kill());
  await kill('another one, as the first was restarted,', async () => {
    await servers[0]!.start();
    await servers[1]!.kill();
  });
  expect(failures).toEqual([]);
  living.clear();
  await Promise.all(loading);
  expect(served.get('g1')).toBeGreaterThan(0);
});
