import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { NetworkNamespace } from './support/network_namespace.js';
import { temporaryDirectory } from './support/world.js';

const example = fileURLToPath(new URL('../../../fixtures/several-interfaces/run.mjs', import.meta.url));
const program = fileURLToPath(new URL('../bin/sheaf.js', import.meta.url));

const missing = NetworkNamespace.missing();
if (missing !== undefined)
  console.warn(`skipped: the example of several interfaces, paths between link-local addresses: ${missing}`);

describe.skipIf(missing !== undefined)('the example of several interfaces', () => {
  function start() {
    const child = spawn(process.execPath, [example], { stdio: ['ignore', 'pipe', 'pipe'] });
    onTestFinished(() => void child.kill('SIGTERM'));
    const text = { out: '', err: '' };
    child.stdout.on('data', (chunk: Buffer) => (text.out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (text.err += chunk.toString()));
    return { child, text, ended: once(child, 'close') as Promise<[number | null]> };
  }
  /** The processes that hold the two hosts. */
  const hosts = (out: string): string[] => [...out.matchAll(/\(process (\d+)\)/g)].map((match) => match[1]!);

  it('downloads over both, loses one in the middle, and leaves nothing behind', async () => {
    const { text, ended } = start();
    const [code] = await ended;
    expect([code, text.err]).toEqual([0, '']);
    expect(text.out).toMatch(/sheaf fetch over both interfaces: 24000000 bytes in/);
    for (const address of ["'10.1.0.1:", "'[fd02::1]:", "'10.2.0.1'"]) expect(text.out).toContain(address);
    expect(text.out).toContain('wire0 went down: all 24000000 bytes arrived in');
    const [, lost = '', back = ''] = text.out.split('wire0 ').slice(0, 3);
    expect(lost).not.toContain("'10.1.0.1' │ 'active'");
    expect(back).toContain("'10.1.0.1' │ 'active'");
    await vi.waitFor(
      () => expect(hosts(text.out).filter((process) => existsSync(`/proc/${process}/ns/net`))).toEqual([]),
      30_000,
    );
  }, 240_000);

  it('leaves nothing behind on Ctrl-C either', async () => {
    const { child, text, ended } = start();
    await vi.waitFor(() => expect(text.out).toContain('sheaf fetch over both'), { timeout: 120_000, interval: 20 });
    child.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
    expect(text.err).toBe('');
    expect(hosts(text.out)).toHaveLength(2);
    await vi.waitFor(
      () => expect(hosts(text.out).filter((process) => existsSync(`/proc/${process}/ns/net`))).toEqual([]),
      30_000,
    );
  }, 240_000);
});

it.skipIf(missing !== undefined)(
  'paths are opened between link-local addresses, which have a zone',
  async () => {
    const directory = await temporaryDirectory();
    const [laptop, center] = [NetworkNamespace.make(), NetworkNamespace.make()];
    onTestFinished(async () => void (await Promise.all([laptop, center].map((host) => host.remove()))));
    laptop.run(`link add wire0 type veth peer name wire1 netns ${center.id}`);
    for (const [host, device, number] of [
      [laptop, 'wire0', 1],
      [center, 'wire1', 2],
    ] as const) {
      host.run(`addr add 10.1.0.${number}/24 dev ${device}`);
      host.run(`addr add fe80::${number}/64 dev ${device} nodad`);
      host.run(`link set ${device} up`);
    }
    await mkdir(join(directory, 'site'));
    await writeFile(join(directory, 'site', 'index.html'), 'hello');
    await writeFile(
      join(directory, 'sheaf.yaml'),
      'listen: ["10.1.0.2:4433", "[fe80::2%wire1]:4433"]\nadmin: 127.0.0.1:9433\nlog: { level: silent }\nroutes: [{ files: site }]\n',
    );
    const command = ({ enter: [enter = '', ...rest] }: typeof laptop, ...args: string[]): [string, string[]] => [
      enter,
      [...rest, process.execPath, program, ...args],
    ];
    const gateway = spawn(...command(center, 'up', 'sheaf.yaml'), {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void gateway.kill('SIGKILL'));
    await once(gateway.stdout, 'data');
    const paths = async (...args: string[]) => {
      const { stdout } = await promisify(execFile)(
        ...command(
          laptop,
          'fetch',
          '-k',
          '--json',
          ...args.flatMap((path) => ['--path', path]),
          'https://10.1.0.2:4433/',
        ),
        { cwd: directory },
      );
      const report = JSON.parse(stdout) as { bytes: number; paths: { local: string; remote: string; state: string }[] };
      expect(report.bytes).toBe(5);
      return report.paths.map(({ local, remote, state }) => [local.replace(/:\d+$/, ''), remote, state]);
    };
    const linkLocal = ['[fe80::1%wire0]', '[fe80::2%wire0]:4433', 'active'];
    expect(await paths('10.1.0.1', '[fe80::1%wire0]>[fe80::2]:4433')).toEqual([
      ['10.1.0.1', '10.1.0.2:4433', 'active'],
      linkLocal,
    ]);
    expect(await paths('[fe80::1%wire0]>[fe80::2%wire0]:4433')).toEqual([linkLocal]);
    await expect(paths('10.1.0.1', '[fe80::1%wire9]>[fe80::2]:4433')).rejects.toMatchObject({
      stderr: expect.stringContaining('error[ADDRESS_UNAVAILABLE]: --path [fe80::1%wire9]') as string,
    });
  },
  300_000,
);
