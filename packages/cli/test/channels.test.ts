import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { NetworkNamespace } from './support/network_namespace.js';
import { temporaryDirectory } from './support/world.js';

const program = fileURLToPath(new URL('../bin/sheaf.js', import.meta.url));

const missing = NetworkNamespace.missing();
if (missing !== undefined) console.warn(`skipped: channels between network namespaces: ${missing}`);

interface Report {
  state: string;
  joinError?: string;
  fromGroup?: number;
  fromUnicast?: number;
  expired?: number;
  forged?: number;
  joinDelayMs?: number;
  unicastShare?: number;
}

/** Two hosts with a cable between them, and a gateway on the first one. */
async function startSite(channel: string) {
  const directory = await temporaryDirectory();
  const [center, laptop] = [NetworkNamespace.make(), NetworkNamespace.make()];
  onTestFinished(async () => void (await Promise.all([laptop, center].map((host) => host.remove()))));
  center.run(`link add wire0 type veth peer name wire1 netns ${laptop.id}`);
  for (const [host, device, number] of [
    [center, 'wire0', 1],
    [laptop, 'wire1', 2],
  ] as const) {
    host.run('link set lo up');
    host.run(`addr add 10.97.0.${number}/24 dev ${device}`);
    host.run(`link set ${device} up`);
  }
  await writeFile(
    join(directory, 'sheaf.yaml'),
    `listen: 10.97.0.1:4433\nadmin: 127.0.0.1:9433\nlog: { level: silent }\nchannels: { live: ${channel} }\nroutes: [{ path: /live, channel: live }]\n`,
  );
  const command = ({ enter: [enter = '', ...rest] }: typeof laptop, ...args: string[]): [string, string[]] => [
    enter,
    [...rest, process.execPath, program, ...args],
  ];
  const start = (...words: ReturnType<typeof command>): ChildProcess => {
    const child = spawn(...words, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  const gateway = start(...command(center, 'up', 'sheaf.yaml'));
  await once(gateway.stdout!, 'data');
  const sheaf = async (...args: string[]) =>
    (await promisify(execFile)(...command(center, ...args), { cwd: directory })).stdout;
  return { directory, sheaf, watch: (...args: string[]) => new Watcher(start(...command(laptop, 'watch', ...args))) };
}

/** A running `sheaf watch --report`. */
class Watcher {
  readonly reports: Report[] = [];
  readonly ended: Promise<unknown[]>;
  #wake: (() => void) | undefined;

  constructor(child: ChildProcess) {
    this.ended = once(child, 'close');
    createInterface(child.stderr!).on('line', (line) => {
      this.reports.push(line.startsWith('{') ? (JSON.parse(line) as Report) : { state: line });
      this.#wake?.();
    });
  }

  async reaches(state: string): Promise<void> {
    while (!this.reports.some((report) => report.state === state))
      await new Promise<void>((resolve) => (this.#wake = resolve));
  }
  get last(): Report {
    return this.reports.at(-1)!;
  }
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const withOptions = (options: string): string => `{ group: "232.97.1.1:5497", source: 10.97.0.1, ${options} }`;
// Signed, with repairs
const group = withOptions('hops: 1');

it.skipIf(missing !== undefined).each([
  ['by multicast', group, [], 'receiving'],
  // With a long deadline, packets have most of a second for their way.
  ['with tags whose keys are disclosed later', withOptions('authentication: timed, deadline: 8s'), [], 'receiving'],
  ['with a signature behind each packet', withOptions('authentication: per-packet'), [], 'receiving'],
  ['without proofs and repairs', withOptions('authentication: none, repairs: false'), [], 'receiving'],
  ['by copies where the channel has no group', '{}', [], 'want'],
  ['by copies for a receiver that does not join', group, ['--unicast'], 'want'],
  // What a network without multicast does: the receiver joins where nothing of the group comes.
  ['by copies where the group does not come', group, ['--interface', 'lo'], 'joined'],
] as const)(
  'a file comes %s',
  async (_name, channel, more, state) => {
    const { directory, sheaf, watch } = await startSite(channel);
    const bytes = randomBytes(3_000_000);
    await writeFile(join(directory, 'sent.bin'), bytes);
    const watcher = watch('-k', '--report', '-o', 'got.bin', ...more, 'https://10.97.0.1:4433/live');
    await watcher.reaches(state);
    expect(await sheaf('publish', 'live', 'sent.bin')).toContain(sha256(bytes));
    expect(await watcher.ended).toEqual([0, null]);
    expect(sha256(await readFile(join(directory, 'got.bin')))).toBe(sha256(bytes));
    const { fromGroup = 0, fromUnicast = 0, expired, forged, joinDelayMs, unicastShare } = watcher.last;
    expect([expired, forged]).toEqual([0, 0]);
    if (state === 'receiving') {
      expect(fromGroup).toBeGreaterThan(bytes.length / 1300);
      expect(joinDelayMs).toBeGreaterThan(0);
      expect(unicastShare).toBeLessThan(0.1);
    } else expect([fromGroup, fromUnicast > bytes.length / 1300]).toEqual([0, true]);
    expect(await sheaf('status')).toMatch(/live +(232\.97\.1\.1:5497|copies alone) +0 /);
  },
  300_000,
);

it.skipIf(missing !== undefined)(
  'a directory comes by multicast, and only where one is wanted',
  async () => {
    const { directory, sheaf, watch } = await startSite(group);
    await mkdir(join(directory, 'slides', 'pictures'), { recursive: true });
    const files = { 'index.html': Buffer.from('<h1>one</h1>'), 'pictures/two.bin': randomBytes(1_500_000) };
    for (const [path, bytes] of Object.entries(files)) await writeFile(join(directory, 'slides', path), bytes);
    const to = (output: string) => watch('-k', '--report', '-o', output, 'https://10.97.0.1:4433/live');
    const [watcher, other] = [to('got/'), to('got.bin')];
    await Promise.all([watcher.reaches('receiving'), other.reaches('receiving')]);
    await sheaf('publish', 'live', 'slides');
    expect(await watcher.ended).toEqual([0, null]);
    for (const [path, bytes] of Object.entries(files))
      expect(sha256(await readFile(join(directory, 'got', path)))).toBe(sha256(bytes));
    expect(await other.ended).toEqual([2, null]);
    expect(other.reports.map(({ state }) => state).join()).toContain('the publication "slides" is a directory');
    expect((await readdir(directory)).filter((name) => name.startsWith('got'))).toEqual(['got']);
  },
  120_000,
);
