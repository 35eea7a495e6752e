import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { expect, test as base } from './fixtures.js';
import { freePort } from './free_port.js';
import { GatewayProcess } from './gateway.js';

/** A gateway with two workers, whose files can be exchanged while it runs */
interface Changing {
  gateway: GatewayProcess;
  /** Makes it serve the files of this name, by a reload or in another process. */
  change(how: 'reload' | 'upgrade', name: string): Promise<void>;
}

const versions = ['first', 'second', 'third'];

const test = base.extend<{ changing: Changing }>({
  changing: async ({}, use) => {
    const [sites, admin] = [await mkdtemp(join(tmpdir(), 'sheaf-workers-site-')), await freePort()];
    for (const name of versions) {
      await mkdir(join(sites, name));
      await writeFile(join(sites, name, 'index.html'), `<!doctype html><title>${name}</title>`);
      await writeFile(join(sites, name, 'a.txt'), name);
    }
    const keys = ['workers: 2', `admin: 127.0.0.1:${admin}`];
    const routesOf = (name: string): string[] => [
      '{ path: /echo, webtransport: echo }',
      `{ files: ${JSON.stringify(join(sites, name))} }`,
    ];
    const gateway = await GatewayProcess.startWith(routesOf('first'), ...keys);
    let successor: number | undefined;
    await use({
      gateway,
      change: async (how, name) => {
        await gateway.configure(routesOf(name), ...keys);
        const headers = { 'sheaf-admin': '1' };
        const answer = await fetch(`http://127.0.0.1:${admin}/${how}`, { method: 'POST', headers });
        const outcome = (await answer.json()) as { accepted: boolean; after?: { pid: number } };
        successor = outcome.after?.pid ?? successor;
        expect(outcome).toMatchObject({ accepted: true });
      },
    });
    // The one before ends with it.
    if (successor !== undefined) process.kill(successor, 'SIGTERM');
    await gateway.remove();
    await rm(sites, { recursive: true, force: true });
  },
});

/** Opens a session with the echo application, which the page keeps. */
async function openSession(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const { hashes } = (await (await fetch('/.well-known/sheaf/certificate-hashes')).json()) as { hashes: string[] };
    const session = new WebTransport(`${location.origin}/echo`, {
      serverCertificateHashes: hashes.map((hash) => ({
        algorithm: 'sha-256',
        value: Uint8Array.from(hash.match(/../g)!, (pair) => Number.parseInt(pair, 16)),
      })),
    });
    await session.ready;
    Object.assign(globalThis, { session });
  });
}

declare const session: WebTransport;

/** Uses the session of the page, and asks for a file over HTTP/3. Returns what comes back. */
const useAll = (page: Page): Promise<{ echo: string; text: string; protocol: string | undefined }> =>
  page.evaluate(async () => {
    const { readable, writable } = await session.createBidirectionalStream();
    await new Blob(['echo']).stream().pipeTo(writable);
    performance.clearResourceTimings();
    const text = await (await fetch('/a.txt', { cache: 'no-store' })).text();
    const [timing] = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
    return { echo: await new Response(readable).text(), text, protocol: timing?.nextHopProtocol };
  });

test('an open page and its session live through a reload and an upgrade of a gateway with two workers', async ({
  changing: { gateway, change },
  launchBrowser,
}) => {
  const switches = [
    `--ignore-certificate-errors-spki-list=${await gateway.publicKeyHash()}`,
    `--origin-to-force-quic-on=127.0.0.1:${gateway.port}`,
  ];
  const page = await (await launchBrowser(...switches)).newPage();
  await page.goto(gateway.httpsUrl);
  await openSession(page);
  expect(await useAll(page)).toEqual({ echo: 'echo', text: 'first', protocol: 'h3' });
  await change('reload', 'second');
  expect(await useAll(page)).toEqual({ echo: 'echo', text: 'second', protocol: 'h3' });
  await change('upgrade', 'third');
  // The connections of this browser stay with the process that has them.
  for (let turn = 0; turn < 10; turn += 1)
    expect(await useAll(page)).toEqual({ echo: 'echo', text: 'second', protocol: 'h3' });
  // Those of another one are new.
  const later = await (await launchBrowser(...switches)).newPage();
  await later.goto(gateway.httpsUrl);
  await openSession(later);
  expect(await useAll(later)).toEqual({ echo: 'echo', text: 'third', protocol: 'h3' });
  expect(await page.title()).toBe('first');
  await page.reload();
  expect(await page.title()).toBe('second');
});
