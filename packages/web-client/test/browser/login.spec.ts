import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { expect, loaderStatus, openThroughStart, test as base } from './fixtures.js';
import { GatewayProcess } from './gateway.js';
import { LoginSite } from './login_site.js';

interface World {
  readonly site: LoginSite;
  readonly gateway: GatewayProcess;
  /** Directory of what lies below /static/. */
  readonly files: string;
  readonly routes: readonly string[];
}

const test = base.extend<{ world: World }>({
  world: async ({}, use) => {
    const files = await mkdtemp(join(tmpdir(), 'sheaf-login-site-'));
    await writeFile(join(files, 'site.css'), 'h1 { color: rgb(1, 2, 3) }');
    await writeFile(join(files, 'site.js'), 'document.body.dataset.version = "1"');
    const site = new LoginSite();
    const routes = [
      `{ path: /static, files: ${JSON.stringify(files)} }`,
      `{ path: /, upstream: "${await site.start()}" }`,
    ];
    const gateway = await GatewayProcess.startWith(routes);
    await use({ site, gateway, files, routes });
    await gateway.remove();
    site.stop();
    await rm(files, { recursive: true, force: true });
  },
});

/** How the page's document travelled, and each of its files. */
function carriers(page: Page): Promise<Record<string, boolean>> {
  return page.evaluate(() => {
    const entries = [
      ...performance.getEntriesByType('navigation'),
      ...performance.getEntriesByType('resource'),
    ] as PerformanceResourceTiming[];
    const session = (entry: PerformanceResourceTiming): boolean =>
      entry.serverTiming.some(({ name }) => name === 'sheaf-webtransport');
    return Object.fromEntries(
      entries
        .filter(({ name }) => !name.startsWith('data:'))
        .map((entry) => [new URL(entry.name).pathname, session(entry)]),
    );
  });
}

const heading = (page: Page): Promise<string | null> => page.textContent('h1');

test('a visitor logs in, stays so over visits and logs out, and files keep coming over the session', async ({
  page,
  world: { gateway, site },
}) => {
  await openThroughStart(page, gateway.httpUrl, '/');
  expect(await heading(page)).toBe('Nobody');
  expect(await carriers(page)).toEqual({ '/': true, '/static/site.css': true, '/static/site.js': true });

  await page.click('text=Log in');
  await expect(page.locator('h1')).toHaveText('Hello, Ada');
  expect(await page.evaluate(() => document.cookie)).toBe('');
  await page.reload();
  expect(await heading(page)).toBe('Hello, Ada');
  expect(await carriers(page)).toEqual({ '/': false, '/static/site.css': true, '/static/site.js': true });
  expect(await page.evaluate(() => getComputedStyle(document.querySelector('h1')!).color)).toBe('rgb(1, 2, 3)');

  await page.click('text=Log out');
  await expect(page.locator('h1')).toHaveText('Nobody');
  expect(site.asked.filter(({ path }) => path === '/login' || path === '/logout')).toEqual([
    { method: 'POST', path: '/login', cookie: undefined },
    { method: 'POST', path: '/logout', cookie: 'visitor=Ada' },
  ]);
});

test('a log-in from before the page loader counts', async ({ page, context, world: { gateway } }) => {
  await context.addCookies([{ name: 'visitor', value: 'Eve', url: gateway.httpUrl, httpOnly: true }]);
  await openThroughStart(page, gateway.httpUrl, '/');
  expect(await heading(page)).toBe('Hello, Eve');
});

test('a page behind HTTP authentication opens', async ({ launchBrowser, world: { gateway } }) => {
  const browser = await launchBrowser();
  const page = await browser.newPage({ httpCredentials: { username: 'ada', password: 'secret' } });
  await openThroughStart(page, gateway.httpUrl, '/');
  await page.goto(`${gateway.httpUrl}/basic`);
  expect(await heading(page)).toBe('Inside');
});

test('a second visit loads only what changed', async ({ page, world: { gateway, files } }) => {
  await openThroughStart(page, gateway.httpUrl, '/');
  await expect(page.locator('body')).toHaveAttribute('data-version', '1');
  // The worker stores beside the page.
  await expect
    .poll(() => page.evaluate(async () => (await (await caches.open('sheaf-responses')).keys()).length))
    .toBe(2);
  await page.goto('about:blank');
  const before = (await gateway.requests()).length;
  await writeFile(join(files, 'site.js'), 'document.body.dataset.version = "two"');
  await page.goto(gateway.httpUrl);
  await expect(page.locator('body')).toHaveAttribute('data-version', 'two');
  const second = async () => (await gateway.requests()).slice(before).filter(({ path }) => path.startsWith('/static/'));
  await expect
    .poll(async () => (await second()).find(({ path }) => path === '/static/site.js'))
    .toMatchObject({ status: 200, via: 'webtransport' });
  // Not asked for at all while it is fresh, else found unchanged.
  expect((await second()).filter(({ path, status }) => path === '/static/site.css' && status !== 304)).toEqual([]);
});

test("a page's script cannot lead the page loader to another gateway", async ({ page, world: { gateway } }) => {
  await openThroughStart(page, gateway.httpUrl, '/');
  const settings = await page.evaluate(async () => {
    const forged = { hashes: [], authority: 'attacker.example:443' };
    const cache = await caches.open('sheaf-page-loader');
    const [key] = await cache.keys();
    await cache.put(key!, Response.json({ description: forged, style: 'extensible' }));
    const { port1, port2 } = new MessageChannel();
    const reply = new Promise((resolve) => {
      port1.onmessage = resolve;
    });
    navigator.serviceWorker.controller!.postMessage({ type: 'configure', description: forged, style: 'no-style' }, [
      port2,
    ]);
    await reply;
    return (await (await cache.match(key!))!.json()) as { description: { authority: string }; style: string };
  });
  expect(settings).toMatchObject({ description: { authority: `127.0.0.1:${gateway.port}` }, style: 'extensible' });
  await page.reload();
  expect(await carriers(page)).toMatchObject({ '/static/site.css': true });
  expect(await loaderStatus(page)).toMatchObject({ session: { state: 'open' } });
});

/** Visits until the browser has no worker and no cache of ours left; each visit lets it look for a new worker. */
async function expectRemoval(page: Page, url: string): Promise<void> {
  await expect
    .poll(async () => {
      await page.goto(url);
      return page.evaluate(async () => ({
        workers: (await navigator.serviceWorker.getRegistrations()).length,
        caches: (await caches.keys()).filter((name) => name.startsWith('sheaf-')),
      }));
    })
    .toEqual({ workers: 0, caches: [] });
  await page.reload();
  expect(await page.evaluate(() => navigator.serviceWorker.controller)).toBeNull();
}

test('one line of configuration takes the page loader out of a browser', async ({
  page,
  world: { gateway, routes },
}) => {
  await openThroughStart(page, gateway.httpUrl, '/');
  expect(await loaderStatus(page)).toMatchObject({ session: { state: 'open' } });
  await gateway.stop();
  await gateway.configure(routes, 'page_loader: off');
  await gateway.run();
  await expectRemoval(page, gateway.httpUrl);
  // Whoever still links to the start page is led on.
  await openThroughStart(page, gateway.httpUrl, '/');
  expect(await heading(page)).toBe('Nobody');
  expect(await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length)).toBe(0);
});

test('a site that is no longer behind Sheaf loses the page loader', async ({ page, world: { gateway } }) => {
  await openThroughStart(page, gateway.httpUrl, '/');
  await gateway.stop();
  const other = createServer((request, response) => {
    if (request.url === '/') response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Elsewhere</h1>');
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => other.listen(gateway.httpPort, '127.0.0.1', resolve));
  try {
    await expectRemoval(page, gateway.httpUrl);
    expect(await heading(page)).toBe('Elsewhere');
  } finally {
    other.close();
    other.closeAllConnections();
  }
});
