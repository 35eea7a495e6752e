import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { buildNoq, noqClient, noqServer, whyNoNoq, type NoqEvent, type NoqPath, type NoqServer } from './noq_program.js';
import { freePort, json, sheaf, startProgram, type RunningProgram } from './programs.js';

const minutes = 60_000;

/** What noq's server answers to /N. */
const patternBytes = (count: number): Buffer => Buffer.from(Uint8Array.from({ length: count }, (_, index) => ((index % 251) * 31) % 251));
const sha256 = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

const large = patternBytes(20_000_000);
const whole = { event: 'downloaded', bytes: large.length, sha256: sha256(large) };

const named = (events: readonly NoqEvent[], name: string): NoqEvent[] => events.filter(({ event }) => event === name);
const pathOf = (event: NoqEvent | undefined, id: number): NoqPath => {
  const found = event?.paths?.find((path) => path.id === id);
  if (!found) throw new Error(`no path ${id} in ${JSON.stringify(event)}`);
  return found;
};
const streamFrames = (event: NoqEvent | undefined, id: number): number => pathOf(event, id).framesReceived.stream ?? 0;

const reason = await whyNoNoq();
beforeAll(async () => {
  if (reason === undefined) await buildNoq();
}, 20 * minutes);
beforeEach((context) => {
  if (reason !== undefined) {
    process.stderr.write(`${context.task.name}: skipped, ${reason}\n`);
    context.skip(reason);
  }
});

describe('noq as the client of a gateway', () => {
  let directory: string;
  let gateway: RunningProgram;
  let port: number;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'sheaf-noq-'));
    port = await freePort();
    mkdirSync(join(directory, 'site'));
    writeFileSync(join(directory, 'site', 'large.bin'), large);
    writeFileSync(join(directory, 'sheaf.yaml'), `listen: 0.0.0.0:${port}\ntls: dev\nalpn: [h3, hq-interop]\nroutes:\n  - { path: /, files: ./site }\n`);
    gateway = await startProgram(sheaf, ['up', join(directory, 'sheaf.yaml')], /ready/);
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    rmSync(directory, { recursive: true, force: true });
  });

  test('negotiates several paths and downloads over one', async () => {
    const events = await noqClient(port, ['get', '/large.bin']);
    expect(events[0]).toEqual({ event: 'connected', multipath: true });
    expect(named(events, 'downloaded')).toMatchObject([whole]);
  });

  test('downloads over three paths, from three addresses', async () => {
    const events = await noqClient(port, ['open', '127.0.0.2', 'open', '127.0.0.3', 'get', '/large.bin']);
    expect(named(events, 'path established').map(({ path }) => path?.id)).toEqual([1, 2]);
    const [downloaded] = named(events, 'downloaded');
    expect(downloaded).toMatchObject(whole);
    expect(downloaded?.paths?.map(({ local }) => local)).toEqual(['127.0.0.1', '127.0.0.2', '127.0.0.3']);
  });

  test('opens a path to another address of the gateway', async () => {
    const events = await noqClient(port, ['open', `127.0.0.1>127.0.0.2:${port}`, 'backup', '0', 'sleep', '100', 'get', '/large.bin']);
    const [downloaded] = named(events, 'downloaded');
    expect(downloaded).toMatchObject(whole);
    expect(pathOf(downloaded, 1).remote).toBe(`127.0.0.2:${port}`);
    expect(streamFrames(downloaded, 1)).toBeGreaterThan(0);
    expect(streamFrames(downloaded, 0)).toBe(0);
  });

  test('chooses which of three paths carries streams by making the others backups', async () => {
    const only = (id: number): string[] => [0, 1, 2].flatMap((other) => [other === id ? 'available' : 'backup', String(other)]);
    const turns = [1, 2, 0];
    const steps = turns.flatMap((id) => [...only(id), 'sleep', '200', 'get', '/large.bin']);
    const events = await noqClient(port, ['open', '127.0.0.2', 'open', '127.0.0.3', ...steps]);
    const downloads = named(events, 'downloaded');
    expect(downloads).toMatchObject([whole, whole, whole]);
    const counts = downloads.map((download) => [0, 1, 2].map((id) => streamFrames(download, id)));
    const added = counts.map((now, turn) => now.map((count, id) => count - (counts[turn - 1]?.[id] ?? 0)));
    const carriers = added.map((frames) => [0, 1, 2].filter((id) => (frames[id] ?? 0) > 0));
    expect(carriers).toEqual(turns.map((id) => [id]));
  });

  test('goes on with the backup when the other path is abandoned', async () => {
    const events = await noqClient(port, ['open', '127.0.0.2', 'backup', '1', 'sleep', '100', 'start', '/large.bin', 'abandon', '0', 'finish', 'get', '/large.bin']);
    const downloads = named(events, 'downloaded');
    expect(downloads).toMatchObject([whole, whole]);
    expect(streamFrames(downloads[1], 1)).toBeGreaterThan(streamFrames(downloads[0], 1));
    expect(streamFrames(downloads[1], 0)).toBe(streamFrames(downloads[0], 0));
  });

  test.each([0, 1])('abandons path %i in the middle of a download; the gateway agrees', async (id) => {
    const events = await noqClient(port, ['open', '127.0.0.2', 'start', '/large.bin', 'abandon', String(id), 'finish', 'sleep', '2000']);
    expect(named(events, 'downloaded')).toMatchObject([whole]);
    expect(named(events, 'path abandoned')).toMatchObject([{ id }]);
    // It is discarded some time after the gateway's PATH_ABANDON has arrived.
    expect(named(events, 'path discarded')).toMatchObject([{ id }]);
    expect(pathOf(named(events, 'closed')[0], 1 - id).framesReceived.pathAbandon).toBe(1);
  });

  test('opens more paths in succession than the first limit permits', async () => {
    const cycles = Array.from({ length: 10 }, (_, index) => ['open', `127.0.0.${index + 2}`, 'abandon', String(index + 1), 'sleep', '300']);
    const events = await noqClient(port, [...cycles.flat(), 'get', '/large.bin']);
    expect(named(events, 'path established').map(({ path }) => path?.id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(named(events, 'downloaded')).toMatchObject([whole]);
  });

  test('updates the keys in the middle of a download over two paths, twice', async () => {
    const cycle = ['start', '/large.bin', 'key-update', 'finish', 'sleep', '1000'];
    const events = await noqClient(port, ['open', '127.0.0.2', ...cycle, ...cycle, 'get', '/large.bin']);
    expect(named(events, 'downloaded')).toMatchObject([whole, whole, whole]);
  });
});

describe('sheaf fetch as the client of noq', () => {
  let server: NoqServer;

  beforeAll(async () => {
    if (reason === undefined) server = await noqServer();
  });
  afterAll(() => server?.stop());

  const fetchFrom = (target: string): Promise<Record<string, unknown>> =>
    json(sheaf, ['fetch', `https://127.0.0.1:${server.port}${target}`, '--insecure', '--json', '--alpn', 'hq-interop']);

  test('negotiates several paths and downloads over one', async () => {
    expect(await fetchFrom(`/${large.length}`)).toMatchObject({ bytes: whole.bytes, sha256: whole.sha256, alpn: 'hq-interop' });
    expect(await server.event('connected')).toMatchObject({ multipath: true });
  });

  test('follows a key update of the server', async () => {
    expect(await fetchFrom(`/${large.length}?key-update`)).toMatchObject({ bytes: whole.bytes, sha256: whole.sha256 });
  });
});
