import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished, vi } from 'vitest';
import { NetworkNamespace } from './support/network_namespace.js';
import { temporaryDirectory } from './support/world.js';

const program = fileURLToPath(new URL('../bin/sheaf.js', import.meta.url));
const bytes = 400_000_000;

const missing = NetworkNamespace.missing();
if (missing !== undefined) console.warn(`skipped: an edge that follows interfaces: ${missing}`);

interface Status {
  gateway: {
    opened: number;
    connections: { paths: { state: string; local: { address: string }; bytesReceived: number }[] }[];
  };
}

/** Two hosts with two cables between them; the second one of the laptop is not set up yet. */
function makeNetwork(): { laptop: NetworkNamespace; center: NetworkNamespace } {
  const [laptop, center] = [NetworkNamespace.make(), NetworkNamespace.make()];
  onTestFinished(async () => void (await Promise.all([laptop, center].map((namespace) => namespace.remove()))));
  for (const [cable, subnet] of [
    ['wire', '10.1.0'],
    ['radio', '10.2.0'],
  ]) {
    laptop.run(`link add ${cable}0 type veth peer name ${cable}1 netns ${center.id}`);
    laptop.run(`link set ${cable}0 up`);
    center.run(`addr add ${subnet}.2/24 dev ${cable}1`);
    center.run(`link set ${cable}1 up`);
  }
  laptop.run('addr add 10.1.0.1/24 dev wire0');
  return { laptop, center };
}

it.skipIf(missing !== undefined)(
  'an edge uses an interface that appears, and goes on when another one vanishes in mid-transfer',
  async () => {
    const directory = await temporaryDirectory();
    const { laptop, center } = makeNetwork();
    await mkdir(join(directory, 'site'));
    await writeFile(join(directory, 'site', 'zeros.bin'), '');
    await truncate(join(directory, 'site', 'zeros.bin'), bytes);
    await writeFile(
      join(directory, 'sheaf.yaml'),
      `nodes:
  center: { role: gateway, listen: 0.0.0.0:4433, log: { level: silent }, routes: [{ files: site }] }
  laptop: { role: edge, listen: 127.0.0.1:4443, admin: 127.0.0.1:9443, log: { level: warn }, gateway: { address: "10.1.0.2:4433", certificate: insecure } }
`,
    );
    const command = ({ enter }: NetworkNamespace, ...args: string[]): [string, string[]] => [
      enter[0] ?? '',
      [...enter.slice(1), process.execPath, program, ...args],
    ];
    const sheaf = (...args: string[]) => promisify(execFile)(...command(laptop, ...args), { cwd: directory });
    for (const [namespace, name] of [
      [center, 'center'],
      [laptop, 'laptop'],
    ] as const) {
      const child = spawn(...command(namespace, 'up', 'sheaf.yaml', '--node', name), {
        cwd: directory,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      await once(child.stdout, 'data');
    }
    const fetchZeros = async () =>
      JSON.parse((await sheaf('fetch', '-k', '--json', 'https://127.0.0.1:4443/zeros.bin')).stdout) as {
        bytes: number;
        sha256: string;
      };
    const status = async () =>
      (JSON.parse((await sheaf('status', '--node', 'laptop', '--json')).stdout) as Status).gateway;
    const active = async () => ((await status()).connections[0]?.paths ?? []).filter(({ state }) => state === 'active');
    const expected = createHash('sha256').update(Buffer.alloc(bytes)).digest('hex');

    expect(await fetchZeros()).toMatchObject({ bytes, sha256: expected });
    expect((await active()).map(({ local }) => local.address)).toEqual(['10.1.0.1']);

    laptop.run('addr add 10.2.0.1/24 dev radio0');
    laptop.run('route add default via 10.2.0.2 dev radio0 table 100');
    laptop.run('rule add from 10.2.0.1 table 100');
    await vi.waitFor(
      async () => expect((await active()).map(({ local }) => local.address)).toEqual(['10.1.0.1', '10.2.0.1']),
      { timeout: 40_000, interval: 300 },
    );

    const received = (await active()).reduce((sum, path) => sum + path.bytesReceived, 0);
    const transfer = fetchZeros();
    await vi.waitFor(
      async () =>
        expect((await active()).reduce((sum, path) => sum + path.bytesReceived, 0) - received).toBeGreaterThan(
          10_000_000,
        ),
      { timeout: 30_000, interval: 10 },
    );
    laptop.run('addr del 10.1.0.1/24 dev wire0');
    expect(await transfer).toMatchObject({ bytes, sha256: expected });
    await vi.waitFor(async () => expect((await active()).map(({ local }) => local.address)).toEqual(['10.2.0.1']), {
      timeout: 30_000,
      interval: 300,
    });
    expect((await status()).opened).toBe(1);
  },
  300_000,
);
