import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserContext, expect, type Page, test as base } from '@playwright/test';
import { freePort } from './free_port.js';
import { SheafProcess } from './sheaf_process.js';

const fixtures = fileURLToPath(new URL('../../../../fixtures/modules/', import.meta.url));

interface ModulesGateway {
  names: string[];
  httpUrl: string;
  /** Exit code of the process. */
  stop(): Promise<number | null>;
  log(): Promise<Record<string, unknown>[]>;
}

/** Where pages find the gateway's sessions. */
interface Server {
  hashes: string[];
  authority: string;
}

/** A gateway with a route for each module in fixtures/modules. */
const test = base.extend<{ modules: ModulesGateway }>({
  modules: async ({}, use) => {
    const directory = await mkdtemp(join(tmpdir(), 'sheaf-modules-'));
    const names = (await readdir(fixtures))
      .filter((file) => file.endsWith('.mjs'))
      .map((file) => file.slice(0, -'.mjs'.length));
    const [port, httpPort] = [await freePort(), await freePort()];
    const routes = names.map(
      (name) => `  - { path: /${name}, webtransport: ${JSON.stringify(join(fixtures, `${name}.mjs`))} }\n`,
    );
    await writeFile(join(directory, 'page.html'), '<title>modules</title>');
    await writeFile(
      join(directory, 'sheaf.yaml'),
      `listen: 127.0.0.1:${port}\nhttp: 127.0.0.1:${httpPort}\ntls: dev\nlog: { file: gateway.log }\nroutes:\n  - { path: /echo, webtransport: echo }\n${routes.join('')}  - { path: /, files: . }\n`,
    );
    const process = new SheafProcess(['up', 'sheaf.yaml'], directory);
    await process.run();
    await use({
      names,
      httpUrl: `http://localhost:${httpPort}`,
      stop: () => process.stop(),
      log: async () =>
        (await readFile(join(directory, 'gateway.log'), 'utf8'))
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as Record<string, unknown>),
    });
    await process.stop();
    await rm(directory, { recursive: true, force: true });
  },
});

/**
 * Runs `work` on a page of its own. Chromium 156's renderer crashes now and then when a session ends from both sides
 * while the page resets its streams. That is one more way to leave a gateway, so the work starts again on a new page.
 */
async function onPage<Result>(
  context: BrowserContext,
  url: string,
  work: (page: Page) => Promise<Result>,
): Promise<Result> {
  for (let crashes = 0; ; crashes += 1) {
    const page = await context.newPage();
    try {
      await page.goto(url);
      return await work(page);
    } catch (error) {
      if (!String(error).includes('crashed') || crashes === 10) throw error;
      console.log('The page crashed; a new one starts again.');
    } finally {
      await page.close();
    }
  }
}

/** Opens eight sessions with the module `name`, one for each way in which the page ends its streams and the session. */
async function endInEveryWay({ hashes, authority, name }: Server & { name: string }): Promise<number> {
  const serverCertificateHashes = hashes.map((hash) => ({
    algorithm: 'sha-256',
    value: Uint8Array.from(hash.match(/../g)!, (pair) => Number.parseInt(pair, 16)),
  }));
  const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch(() => undefined);
  const end = async (behaviour: string, writable: WritableStream<Uint8Array>): Promise<void> => {
    const writer = writable.getWriter();
    writer.closed.catch(() => undefined);
    await quietly(writer.write(new Uint8Array(10_000)));
    if (behaviour === 'end') await quietly(writer.close());
    if (behaviour === 'reset') await quietly(writer.abort());
  };
  let sessions = 0;
  for (const behaviour of ['end', 'reset', 'stop', 'open']) {
    for (const closes of [true, false]) {
      const session = new WebTransport(`https://${authority}/${name}`, { serverCertificateHashes });
      session.closed.catch(() => undefined);
      await session.ready;
      sessions += 1;
      const datagrams = session.datagrams.writable.getWriter();
      datagrams.closed.catch(() => undefined);
      for (let count = 0; count < 2; count += 1) {
        await quietly(
          session.createBidirectionalStream().then(async ({ readable, writable }) => {
            if (behaviour === 'stop') await readable.cancel();
            await end(behaviour, writable);
          }),
        );
        await quietly(
          session
            .createUnidirectionalStream()
            .then((writable) => end(behaviour, writable as WritableStream<Uint8Array>)),
        );
        await quietly(datagrams.write(new Uint8Array(100)));
      }
      // Without it the session lives until the page is gone, and its connection with it.
      if (closes) session.close({ closeCode: 3, reason: 'enough' });
    }
  }
  return sessions;
}

/** Says something to the module that echoes; resolves with what comes back. */
async function hearEcho({ hashes, authority }: Server): Promise<string> {
  const serverCertificateHashes = hashes.map((hash) => ({
    algorithm: 'sha-256',
    value: Uint8Array.from(hash.match(/../g)!, (pair) => Number.parseInt(pair, 16)),
  }));
  const session = new WebTransport(`https://${authority}/echo`, { serverCertificateHashes });
  await session.ready;
  const { readable, writable } = await session.createBidirectionalStream();
  const writer = writable.getWriter();
  void writer.write(new TextEncoder().encode('still here')).then(() => writer.close());
  return new Response(readable as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}

test('no module ends the gateway, however a page ends its streams and sessions', async ({ context, modules }) => {
  test.setTimeout(300_000);
  const url = `${modules.httpUrl}/page.html`;
  const server = (await (await fetch(`${modules.httpUrl}/.well-known/sheaf/certificate-hashes`)).json()) as Server;
  for (const name of modules.names)
    expect(await onPage(context, url, (page) => page.evaluate(endInEveryWay, { ...server, name }))).toBe(8);
  expect(await onPage(context, url, (page) => page.evaluate(hearEcho, server))).toBe('still here');
  const failed = async (): Promise<Set<unknown>> =>
    new Set(
      (await modules.log()).filter(({ msg }) => msg === 'WebTransport application failed').map(({ route }) => route),
    );
  for (const name of ['strays', 'throws_at_once', 'throws_later']) await expect.poll(failed).toContain(`/${name}`);
  // A module that reads or writes a stream may fail by what the page does; these do neither, or catch it.
  for (const name of ['echoes', 'ignores', 'leaves', 'never_returns']) expect(await failed()).not.toContain(`/${name}`);
  expect(await modules.stop()).toBe(0);
});
