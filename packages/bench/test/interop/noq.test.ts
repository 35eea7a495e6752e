import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadDevCertificate } from '@sheaf/gateway';
import { connectHttp3, createHttp3Server, type Http3Client, type PathEvent } from '@sheaf/native';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { buildNoq } from '../../src/paths/noq.js';
import {
  noqClient,
  noqServer,
  patience,
  whyNoNoq,
  type NoqEvent,
  type NoqPath,
  type NoqServer,
} from './noq_program.js';
import { freePort } from '@sheaf/gateway/client';
import { json, sheaf, startProgram, type RunningProgram } from './programs.js';

const minutes = 60_000;
// What waits says what is missing before this ends it.
vi.setConfig({ testTimeout: 10 * minutes, hookTimeout: 10 * minutes });

/** What noq's server answers to /N. */
const patternBytes = (count: number): Buffer =>
  Buffer.from(Uint8Array.from({ length: count }, (_, index) => ((index % 251) * 31) % 251));
const sha256 = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

const large = patternBytes(20_000_000);
const small = patternBytes(300_000);
const whole = { event: 'downloaded', bytes: large.length, sha256: sha256(large) };

const named = (events: readonly NoqEvent[], name: string): NoqEvent[] => events.filter(({ event }) => event === name);
const pathOf = (event: NoqEvent | undefined, id: number): NoqPath => {
  const found = event?.paths?.find((path) => path.id === id);
  if (!found) throw new Error(`no path ${id} in ${JSON.stringify(event)}`);
  return found;
};
const streamFrames = (event: NoqEvent | undefined, id: number): number => pathOf(event, id).framesReceived.stream ?? 0;
/** STREAM frames that came on each path. */
const streamsOf = (event: NoqEvent | undefined): number[] =>
  (event?.paths ?? []).map(({ framesReceived }) => framesReceived.stream ?? 0);
/** The path with most of them: on a machine that is busy with other things a path looks dead for a moment, and a backup helps out. */
const mostlyOn = (frames: readonly number[]): number =>
  frames.findIndex((count) => count > 0.5 * frames.reduce((sum, other) => sum + other));

const reason = await whyNoNoq();
let program: string;
beforeAll(async () => {
  if (reason === undefined) program = await buildNoq();
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
    writeFileSync(join(directory, 'site', 'small.bin'), small);
    writeFileSync(
      join(directory, 'sheaf.yaml'),
      `listen: 0.0.0.0:${port}\ntls: dev\nalpn: [h3, hq-interop]\nroutes:\n  - { path: /, files: ./site }\n`,
    );
    gateway = await startProgram(sheaf, ['up', join(directory, 'sheaf.yaml')], /ready/);
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    rmSync(directory, { recursive: true, force: true });
  });

  test('negotiates several paths and downloads over one', async () => {
    const events = await noqClient(program, port, ['get', '/large.bin']);
    expect(events[0]).toEqual({ event: 'connected', multipath: true });
    expect(named(events, 'downloaded')).toMatchObject([whole]);
  });

  test('downloads over three paths, from three addresses', async () => {
    const events = await noqClient(program, port, ['open', '127.0.0.2', 'open', '127.0.0.3', 'get', '/large.bin']);
    expect(named(events, 'path established').map(({ path }) => path?.id)).toEqual([1, 2]);
    const [downloaded] = named(events, 'downloaded');
    expect(downloaded).toMatchObject(whole);
    expect(downloaded?.paths?.map(({ local }) => local)).toEqual(['127.0.0.1', '127.0.0.2', '127.0.0.3']);
  });

  test('opens a path to another address of the gateway', async () => {
    const events = await noqClient(program, port, [
      'open',
      `127.0.0.1>127.0.0.2:${port}`,
      'backup',
      '0',
      'sleep',
      '100',
      'get',
      '/large.bin',
    ]);
    const [downloaded] = named(events, 'downloaded');
    expect(downloaded).toMatchObject(whole);
    expect(pathOf(downloaded, 1).remote).toBe(`127.0.0.2:${port}`);
    expect(mostlyOn(streamsOf(downloaded))).toBe(1);
  });

  test('chooses which of three paths carries streams by making the others backups', async () => {
    const only = (id: number): string[] =>
      [0, 1, 2].flatMap((other) => [other === id ? 'available' : 'backup', String(other)]);
    const turns = [1, 2, 0];
    const steps = turns.flatMap((id) => [...only(id), 'sleep', '200', 'get', '/large.bin']);
    const events = await noqClient(program, port, ['open', '127.0.0.2', 'open', '127.0.0.3', ...steps]);
    const downloads = named(events, 'downloaded');
    expect(downloads).toMatchObject([whole, whole, whole]);
    const counts = downloads.map(streamsOf);
    const added = counts.map((now, turn) => now.map((count, id) => count - (counts[turn - 1]?.[id] ?? 0)));
    expect(added.map(mostlyOn)).toEqual(turns);
  });

  test('goes on with the backup when the other path is abandoned', async () => {
    const events = await noqClient(program, port, [
      'open',
      '127.0.0.2',
      'backup',
      '1',
      'sleep',
      '100',
      'start',
      '/large.bin',
      'abandon',
      '0',
      'finish',
      'get',
      '/large.bin',
    ]);
    const downloads = named(events, 'downloaded');
    expect(downloads).toMatchObject([whole, whole]);
    expect(streamFrames(downloads[1], 1)).toBeGreaterThan(streamFrames(downloads[0], 1));
  });

  test.each([0, 1])('abandons path %i in the middle of a download; the gateway agrees', async (id) => {
    const events = await noqClient(program, port, [
      'open',
      '127.0.0.2',
      'start',
      '/large.bin',
      'abandon',
      String(id),
      'finish',
      'discarded',
      String(id),
    ]);
    expect(named(events, 'downloaded')).toMatchObject([whole]);
    expect(named(events, 'path abandoned')).toMatchObject([{ id }]);
    expect(pathOf(named(events, 'closed')[0], 1 - id).framesReceived.pathAbandon).toBeGreaterThan(0);
  });

  test('opens more paths in succession than the first limit permits', async () => {
    const cycles = Array.from({ length: 10 }, (_, index) => [
      'open',
      `127.0.0.${index + 2}`,
      'abandon',
      String(index + 1),
    ]);
    const events = await noqClient(program, port, [...cycles.flat(), 'get', '/large.bin']);
    expect(named(events, 'path established').map(({ path }) => path?.id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(named(events, 'downloaded')).toMatchObject([whole]);
  });

  test('updates keys and abandons a path over two links that lose, delay and reorder', async () => {
    const link = async (options: readonly string[]): Promise<RunningProgram> =>
      startProgram(sheaf, ['link', '--json', '--target', `127.0.0.1:${port}`, ...options], /listen/);
    const links = await Promise.all([
      link(['--seed', '1', '--delay', '5ms', '--loss', '1%']),
      link(['--seed', '2', '--delay', '20ms', '--loss', '2%', '--reorder', '2%,5ms']),
    ]);
    try {
      const [first, second] = links.map(({ line }) => (JSON.parse(line) as { listen: string }).listen);
      const steps = [
        'open',
        `127.0.0.1>${second}`,
        'start',
        '/small.bin',
        'key-update',
        'finish',
        'start',
        '/small.bin',
        'abandon',
        '0',
        'finish',
        'key-update',
        'get',
        '/small.bin',
      ];
      const events = await noqClient(program, Number(first?.split(':')[1]), steps);
      const expected = { bytes: small.length, sha256: sha256(small) };
      expect(named(events, 'downloaded')).toMatchObject([expected, expected, expected]);
      expect(named(events, 'closed')[0]?.paths).toMatchObject([
        { id: 0, status: null },
        { id: 1, status: 'available' },
      ]);
    } finally {
      await Promise.all(links.map((running) => running.stop()));
    }
  });

  test('replaces both paths in the middle of a download when its network changes', async () => {
    const events = await noqClient(program, port, [
      'open',
      '127.0.0.2',
      'start',
      '/large.bin',
      'rebind',
      'finish',
      'discarded',
      '0',
      'discarded',
      '1',
      'get',
      '/large.bin',
    ]);
    expect(named(events, 'downloaded')).toMatchObject([whole, whole]);
    expect(named(events, 'path abandoned').map(({ id }) => id)).toEqual([0, 1]);
    expect(
      named(events, 'path established')
        .map(({ path }) => path?.id)
        .sort(),
    ).toEqual([1, 2, 3]);
  });

  test('updates the keys in the middle of a download over two paths, twice', async () => {
    const cycle = ['start', '/large.bin', 'key-update', 'finish', 'sleep', '1000'];
    const events = await noqClient(program, port, ['open', '127.0.0.2', ...cycle, ...cycle, 'get', '/large.bin']);
    expect(named(events, 'downloaded')).toMatchObject([whole, whole, whole]);
  });
});

test('a Sheaf server updates the keys in the middle of a download of noq over two paths', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-noq-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const certificate = await loadDevCertificate(directory, ['localhost'], new Date());
  const server = createHttp3Server({ address: '0.0.0.0', port: 0, alpn: ['hq-interop'], certificate });
  onTestFinished(() => server.close(0));
  const updated: number[] = [];
  server.on('request', (request, response) => {
    response.write(large.subarray(0, large.length / 2));
    // The second update is permitted once noq has acknowledged the keys of the first in packets with those keys.
    const update = vi.waitFor(() => expect(request.connection.updateKeys()).toBe(true), {
      timeout: 30_000,
      interval: 20,
    });
    const rest = update.then(() => updated.push(request.connection.status().keyUpdates));
    void rest.finally(() => response.end(large.subarray(large.length / 2))).catch(() => undefined);
  });
  const { port } = await server.listen();
  const events = await noqClient(program, port, ['open', '127.0.0.2', 'get', '/large.bin', 'get', '/large.bin']);
  expect(named(events, 'downloaded')).toMatchObject([whole, whole]);
  expect(updated).toEqual([1, 2]);
});

describe('Sheaf as the client of noq', () => {
  let server: NoqServer;

  beforeEach(async () => {
    if (reason === undefined) server = await noqServer(program);
  });
  afterEach(() => server?.stop());

  const fetch = (target: string, paths: readonly string[] = []): Promise<Record<string, unknown>> =>
    json(sheaf, [
      'fetch',
      `https://127.0.0.1:${server.port}${target}`,
      '--insecure',
      '--json',
      '--alpn',
      'hq-interop',
      ...paths.flatMap((path) => ['--path', path]),
    ]);

  const body = { bytes: whole.bytes, sha256: whole.sha256 };
  const target = `/${large.length}`;

  test('negotiates several paths and downloads over one', async () => {
    expect(await fetch(target)).toMatchObject({ ...body, alpn: 'hq-interop' });
    expect(await server.event('connected')).toMatchObject({ multipath: true });
  });

  test('fetches over three paths, one of them a backup', async () => {
    const report = await fetch(target, ['127.0.0.1', '127.0.0.2', `127.0.0.3>127.0.0.4:${server.port},backup`]);
    expect(report).toMatchObject({ ...body, paths: [{ id: 0 }, { id: 1 }, { id: 2, status: 'backup' }] });
    const { paths } = await server.event('closed');
    expect(paths?.map(({ local, remote }) => [local, remote?.split(':')[0]])).toEqual([
      ['127.0.0.1', '127.0.0.1'],
      ['127.0.0.1', '127.0.0.2'],
      ['127.0.0.4', '127.0.0.3'],
    ]);
  });

  describe('through its programming interface', () => {
    let client: Http3Client;
    const seen: PathEvent[] = [];

    beforeEach(async () => {
      if (reason !== undefined) return;
      seen.length = 0;
      client = await connectHttp3({
        host: '127.0.0.1',
        port: server.port,
        serverName: 'localhost',
        alpn: ['hq-interop'],
        insecure: true,
      });
      client.on('path', (event) => seen.push(event));
    });
    afterEach(() => client?.close());

    /** The limit is raised some time after a path was abandoned. */
    const openWhenPermitted = async (local: string): Promise<number> => {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await client.openPath({ local });
        } catch (error) {
          if ((error as { code?: string }).code !== 'PATH_REFUSED' || attempt === 100) throw error;
          await sleep(50);
        }
      }
    };

    /** Downloads; `during` is called when the first bytes are here. */
    const get = async (path: string, during = (): void => undefined): Promise<typeof body> => {
      const hash = createHash('sha256');
      let bytes = 0;
      let stalled: unknown;
      const watch = setTimeout(() => {
        stalled = { path, bytes, status: client.status(), seen, noq: server.events };
        void client.close();
      }, patience * 1_000);
      try {
        const response = await client.request({ method: 'GET', path, authority: 'localhost', headers: {} });
        for await (const chunk of response as AsyncIterable<Uint8Array>) {
          if (bytes === 0) during();
          hash.update(chunk);
          bytes += chunk.length;
          watch.refresh();
        }
      } catch (error) {
        throw stalled === undefined ? error : new Error(`nothing came any more: ${JSON.stringify(stalled)}`);
      } finally {
        clearTimeout(watch);
      }
      return { bytes, sha256: hash.digest('hex') };
    };

    test('makes a path a backup, which then carries no stream', async () => {
      const id = await client.openPath({ local: '127.0.0.2' });
      client.setPathStatus(id, 'backup');
      expect(await server.event('path status')).toMatchObject({ id: 1, status: 'backup' });
      expect(await get(target)).toEqual(body);
      await client.close();
      expect(pathOf(await server.event('closed'), 1).framesSent.stream).toBe(0);
    });

    test('heeds a path status of the server', async () => {
      await client.openPath({ local: '127.0.0.2' });
      expect(await get(`${target}?backup=1`)).toEqual(body);
      expect(seen).toContainEqual({ type: 'status', id: 1, status: 'backup' });
      expect(client.status().paths).toMatchObject([
        { id: 0, peerStatus: 'available' },
        { id: 1, peerStatus: 'backup' },
      ]);
    });

    test.each([0, 1])('abandons path %i in the middle of a download', async (id) => {
      await client.openPath({ local: '127.0.0.2' });
      expect(await get(target, () => client.abandonPath(id))).toEqual(body);
      const { reason: why } = await server.event('path abandoned');
      expect(why).toContain('RemoteAbandoned');
      expect(await get(target)).toEqual(body);
      expect(await server.event('path discarded')).toMatchObject({ id });
    });

    test.each([0, 1])('goes on when the server abandons path %i', async (id) => {
      await client.openPath({ local: '127.0.0.2' });
      expect(await get(`${target}?abandon=${id}`)).toEqual(body);
      expect(seen).toContainEqual(expect.objectContaining({ type: 'abandoned', id, byPeer: true }));
      expect(await get(target)).toEqual(body);
      // noq forgets the path when Sheaf's own PATH_ABANDON has arrived.
      expect(await server.event('path discarded')).toMatchObject({ id });
    });

    test('opens more paths in succession than the first limit permits', async () => {
      const ids: number[] = [];
      for (let last = 2; last < 12; last += 1) {
        const id = await openWhenPermitted(`127.0.0.${last}`);
        ids.push(id);
        client.abandonPath(id);
      }
      expect(ids).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(await get(target)).toEqual(body);
    });

    test('updates the keys in the middle of a download over two paths, and noq follows', async () => {
      await client.openPath({ local: '127.0.0.2' });
      for (const count of [1, 2, 3]) {
        // Permitted again once noq has acknowledged the keys before in packets with those keys.
        await vi.waitFor(() => expect(client.updateKeys()).toBe(true), { timeout: 30_000, interval: 20 });
        expect(await get(target)).toEqual(body);
        expect(client.status().keyUpdates).toBe(count);
      }
    });

    test('follows key updates of the server in the middle of a download over two paths', async () => {
      await client.openPath({ local: '127.0.0.2' });
      for (let turn = 0; turn < 3; turn += 1) {
        expect(await get(`${target}?key-update`)).toEqual(body);
        await sleep(500); // noq refuses another one for three probe timeouts
      }
      expect(await get(target)).toEqual(body);
    });
  });
});

test('the benchmark of paths measures each server with each client', async () => {
  const { cells } = await json(sheaf, ['bench', 'paths', '--real', '--json', '--runs', '1', '--bytes', '2000000']);
  const measured = cells as { server: string; client: string; paths: number; goodput_mbps: number }[];
  expect(measured.map(({ server, client, paths }) => `${paths} ${server} ${client}`)).toEqual(
    [1, 2, 4].flatMap((paths) =>
      ['sheaf sheaf', 'sheaf noq', 'noq sheaf', 'noq noq'].map((pair) => `${paths} ${pair}`),
    ),
  );
  for (const { goodput_mbps } of measured) expect(goodput_mbps).toBeGreaterThan(0);
});
