import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { parsePathReports, type PathReport } from '@sheaf/web-client/protocol';
import { expect, test as base } from './fixtures.js';
import { expectGoodLooks, inEachLook, screens } from './looks.js';
import { SheafProcess } from './sheaf_process.js';

/** `sheaf demo --site multi-end`: a gateway, an edge, and three backends in processes of their own. */
const test = base.extend<object, { demo: SheafProcess; demoUrl: string }>({
  demo: [
    async ({}, use) => {
      const directory = await mkdtemp(join(tmpdir(), 'sheaf-servers-test-'));
      const demo = new SheafProcess(['demo', '--site', 'multi-end', '--port', '0', '--http-port', '0'], directory);
      await demo.run();
      await use(demo);
      await demo.stop();
      await rm(directory, { recursive: true, force: true });
    },
    { scope: 'worker', timeout: 300_000 },
  ],
  demoUrl: [
    async ({ demo }, use) => {
      const [, url = ''] = await demo.told(/open (http:\/\/localhost:\d+)\/ in a browser/);
      await use(url);
    },
    { scope: 'worker' },
  ],
});

test.setTimeout(600_000);

const patience = { timeout: 120_000 };
const card = (page: Page, server: number | 'gateway'): Locator => page.locator(`[data-server="${server}"]`);
const fact = (page: Page, server: number | 'gateway', name: string): Locator =>
  card(page, server).locator(`[data-fact="${name}"]`);
const number = async (locator: Locator, name: string): Promise<number> => Number(await locator.getAttribute(name));
const bytesOf = (page: Page, server: number | 'gateway'): Promise<number> => number(card(page, server), 'data-bytes');
const verified = async (page: Page): Promise<number> => Number(await page.textContent('#verified'));

async function open(page: Page, url: string): Promise<Error[]> {
  const errors: Error[] = [];
  page.on('pageerror', (error) => errors.push(error));
  await page.goto(url);
  for (const server of [1, 2, 3]) await expect(fact(page, server, 'state')).toHaveText('serving', patience);
  return errors;
}

/** All that was requested is here, and it is known who sent it. Returns the pieces and bytes of each server. */
async function settle(page: Page): Promise<{ pieces: number; bytes: number }> {
  await page.click('#pause');
  const sum = async (name: string): Promise<number> => {
    const values = await Promise.all((await page.locator('.server').all()).map((each) => number(each, name)));
    return values.reduce((all, value) => all + value, 0);
  };
  // Nothing more arrives; the edge says a moment later that it has ended.
  await expect(page.locator('#pieces li[data-state="requested"], #pieces li[data-state="failed"]')).toHaveCount(
    0,
    patience,
  );
  await expect.poll(async () => (await sum('data-pieces')) - (await verified(page)), patience).toBe(0);
  return { pieces: await sum('data-pieces'), bytes: await sum('data-bytes') };
}

async function pathsOf(url: string): Promise<PathReport[]> {
  return parsePathReports(await (await fetch(`${url}/.well-known/sheaf/paths`)).json());
}

/** Size of every piece, which is not compressed. */
async function pieceBytes(url: string): Promise<number> {
  return (await (await fetch(`${url}/pieces/dusk/0.png`)).arrayBuffer()).byteLength;
}

test('the page counts the bytes that each backend sent, and they are those of the pieces', async ({
  page,
  demoUrl,
}) => {
  const errors = await open(page, demoUrl);
  const before = new Set((await pathsOf(demoUrl)).map(({ id }) => id));
  for (const server of [1, 2, 3]) await expect.poll(() => bytesOf(page, server), patience).toBeGreaterThan(100_000);
  const { pieces, bytes } = await settle(page);
  expect(bytes).toBe(pieces * (await pieceBytes(demoUrl)));
  expect(await page.textContent('#lost-detail')).toBe('0 damaged, 0 failed');
  // The edge received at least so much on the paths to the backends. One that had to be opened again has counted less.
  const paths = await pathsOf(demoUrl);
  for (const server of [1, 2, 3]) {
    const shown = await fact(page, server, 'Path').textContent();
    const path = paths.find(({ id, remote }) => shown === `${id}, to ${remote}`);
    if (path && before.has(path.id)) expect(path.bytesReceived).toBeGreaterThan(await bytesOf(page, server));
  }
  expect(errors).toEqual([]);
});

test('a backend whose process is killed with its button misses nobody, and comes back', async ({ page, demoUrl }) => {
  const errors = await open(page, demoUrl);
  await expect.poll(() => bytesOf(page, 2), patience).toBeGreaterThan(0);
  const pid = Number(await fact(page, 2, 'Process').textContent());
  expect(process.kill(pid, 0)).toBe(true);
  await page.getByRole('button', { name: 'Kill the process of backend2' }).click();
  await expect(fact(page, 2, 'state')).toHaveText('stopped', patience);
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  await expect(page.locator('#happenings')).toContainText('The edge abandoned its path to backend2.', patience);

  // What had arrived from it may still be counted; after some pieces nothing of it is on its way.
  const later = await verified(page);
  await expect.poll(() => verified(page), patience).toBeGreaterThan(later + 20);
  const before = { bytes: await bytesOf(page, 2), verified: await verified(page) };
  await expect.poll(() => verified(page), patience).toBeGreaterThan(before.verified + 20);
  expect(await bytesOf(page, 2)).toBe(before.bytes);
  const { pieces, bytes } = await settle(page);
  expect(bytes).toBe(pieces * (await pieceBytes(demoUrl)));
  expect(await page.textContent('#lost-detail')).toBe('0 damaged, 0 failed');

  await page.getByRole('button', { name: 'Start backend2 again' }).click();
  await expect(fact(page, 2, 'state')).toHaveText('serving', patience);
  await expect(fact(page, 2, 'Process')).not.toHaveText(String(pid));
  await page.click('#pause');
  await expect.poll(() => bytesOf(page, 2), patience).toBeGreaterThan(before.bytes);
  expect(errors).toEqual([]);
});

test('a backend that drains keeps its process, and is used again', async ({ page, demoUrl }) => {
  const errors = await open(page, demoUrl);
  const pid = await fact(page, 1, 'Process').textContent();
  await page.getByRole('button', { name: /^Drain backend1/ }).click();
  await expect(fact(page, 1, 'state')).toHaveText('draining', patience);
  const before = await verified(page);
  await expect.poll(() => verified(page), patience).toBeGreaterThan(before + 20);
  await page.getByRole('button', { name: 'Resume backend1' }).click();
  await expect(fact(page, 1, 'state')).toHaveText('serving', patience);
  expect(await fact(page, 1, 'Process').textContent()).toBe(pid);
  expect(await page.textContent('#lost-detail')).toBe('0 damaged, 0 failed');
  expect(errors).toEqual([]);
});

test('pieces that go through the gateway are counted as its own', async ({ page, demoUrl }) => {
  await open(page, demoUrl);
  await page.check('#proxied');
  await expect.poll(() => bytesOf(page, 'gateway'), patience).toBeGreaterThan(200_000);
  const { pieces, bytes } = await settle(page);
  expect(bytes).toBe(pieces * (await pieceBytes(demoUrl)));
});

test('a browser whose pieces come from the address of the gateway misses nothing when a backend is killed', async ({
  demo,
  launchBrowser,
}, testInfo) => {
  const [, flags = '', url = ''] = await demo.told(/direct server return: chromium (.+) (https:\S+)\/$/m);
  const browser = await launchBrowser(...flags.split(' ').filter((flag) => !flag.startsWith('--user-data-dir')));
  const page = await browser.newPage();
  const errors = await open(page, url);
  const delivered = (server: number): Locator => fact(page, server, 'Delivery');
  for (const server of [1, 2, 3]) await expect(delivered(server)).toContainText('by return', patience);
  await page.getByRole('button', { name: 'Kill the process of backend2' }).click();
  await expect(fact(page, 2, 'state')).toHaveText('stopped', patience);
  const killed = {
    verified: await verified(page),
    bytes: await Promise.all([1, 3].map((each) => bytesOf(page, each))),
  };
  await expect.poll(() => verified(page), patience).toBeGreaterThan(killed.verified + 80);
  await page.screenshot({ path: testInfo.outputPath('direct-return.png'), fullPage: true });
  await page.getByRole('button', { name: 'Start backend2 again' }).click();
  await expect(fact(page, 2, 'state')).toHaveText('serving', patience);
  const { pieces, bytes } = await settle(page);
  expect(pieces).toBe(await verified(page));
  const piece = await page.evaluate(async () => (await (await fetch('/pieces/dusk/0.png')).arrayBuffer()).byteLength);
  expect(bytes).toBe(pieces * piece);
  expect(await page.textContent('#lost-detail')).toBe('0 damaged, 0 failed');
  const protocols = await page.evaluate(() => [
    ...new Set(
      performance.getEntriesByType('resource').map((entry) => (entry as PerformanceResourceTiming).nextHopProtocol),
    ),
  ]);
  expect(protocols).toEqual(['h3']);
  expect(errors).toEqual([]);
});

test('a page of another origin cannot stop a backend', async ({ page, context, demoUrl }) => {
  await open(page, demoUrl);
  const pid = await fact(page, 3, 'Process').textContent();
  const elsewhere = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>elsewhere</title>'),
  ).listen(0, '127.0.0.1');
  await once(elsewhere, 'listening');
  const stranger = await context.newPage();
  await stranger.goto(`http://localhost:${(elsewhere.address() as AddressInfo).port}/`);
  const target = `${demoUrl}/demo/backends/backend3/kill`;
  const outcomes = await stranger.evaluate(async (url) => {
    const send = (init: RequestInit): Promise<string> =>
      fetch(url, { method: 'POST', ...init }).then(
        ({ type }) => type,
        () => 'refused',
      );
    return [await send({ mode: 'no-cors' }), await send({ headers: { 'sheaf-demo': '1' } })];
  }, target);
  expect(outcomes).toEqual(['refused', 'refused']);
  const answered = stranger.waitForResponse(target);
  await stranger.evaluate((url) => {
    const form = Object.assign(document.createElement('form'), { action: url, method: 'post' });
    document.body.append(form);
    form.submit();
  }, target);
  expect((await answered).status()).toBe(403);
  const { backends } = (await (await fetch(`${demoUrl}/demo/backends`)).json()) as {
    backends: { name: string; pid: number; process: string }[];
  };
  expect(backends.find(({ name }) => name === 'backend3')).toMatchObject({ process: 'running', pid: Number(pid) });
  elsewhere.close();
  elsewhere.closeAllConnections();
});

test('the page is good to look at, in every look', async ({ browser, demoUrl }, testInfo) => {
  for (const { prefix, options } of screens) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const errors = await open(page, demoUrl);
    await expect.poll(() => verified(page), patience).toBeGreaterThan(80);
    await inEachLook(page, prefix, async (name) => {
      await page.screenshot({ path: testInfo.outputPath(`servers-${name}.png`), fullPage: true });
      await expectGoodLooks(page);
    });
    expect(errors).toEqual([]);
    await context.close();
  }
});
