import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'puppeteer-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { launchFirefox, type Firefox } from '../../src/browser/firefox.js';
import { fileOf, modules, startModulesGateway, type ModulesGateway } from './modules_gateway.js';
import { call } from './peers/browser.js';
import { echoInPage, endSessionsInPage } from './peers/page_sessions.js';
import { root } from './programs.js';

/** What the demo page puts into `window.demo`. */
interface Arrival {
  path: string;
  carriedBy: string;
}

interface DemoState {
  scripts: string[];
  errors: string[];
  arrivals: Arrival[];
}

let site: string;
let gateway: ModulesGateway;
let firefox: Firefox;

beforeAll(async () => {
  site = mkdtempSync(join(tmpdir(), 'sheaf-firefox-site-'));
  const { buildDemoSite } = (await import(join(root, 'fixtures', 'demo', 'build.mjs'))) as {
    buildDemoSite(directory: string): Promise<string>;
  };
  gateway = await startModulesGateway({ limits: 'idle: 10s', files: await buildDemoSite(site) });
  firefox = await launchFirefox();
});
afterAll(async () => {
  await firefox.stop();
  expect(await gateway.stop()).toBe(0);
  rmSync(site, { recursive: true, force: true });
});

const urlOf = (path: string): string => `http://localhost:${gateway.httpPort}${path}`;

/** Runs `use` with a page in a profile of its own, which goes away with all its connections. */
async function onPage<Result>(path: string, use: (page: Page) => Promise<Result>): Promise<Result> {
  const context = await firefox.browser.createBrowserContext();
  try {
    const page = await context.newPage();
    await page.goto(urlOf(path));
    return await use(page);
  } finally {
    await context.close();
  }
}

test('Firefox loads every resource of a page over WebTransport, by the page loader', async () => {
  await onPage('/.well-known/sheaf/start?to=/', async (page) => {
    const resources = 22;
    const state = async (): Promise<DemoState> =>
      JSON.parse((await page.evaluate('JSON.stringify(globalThis.demo)')) as string) as DemoState;
    // The start page leads to it, and what is asked of a page that goes away fails.
    await vi.waitFor(
      async () => {
        const { arrivals, scripts } = await state();
        expect(arrivals.length).toBeGreaterThanOrEqual(resources);
        expect([...scripts].sort()).toEqual(['async', 'classic', 'module']);
      },
      { timeout: 120_000, interval: 200 },
    );
    const { arrivals, errors } = await state();
    const overSession = new Set(
      arrivals.filter(({ carriedBy }) => carriedBy === 'WebTransport').map(({ path }) => path),
    );
    // What a page asks for twice may come from the cache the second time.
    const isRepeat = ({ carriedBy, path }: Arrival): boolean => carriedBy === 'cache' && overSession.has(path);
    const others = arrivals.filter((arrival) => arrival.carriedBy !== 'WebTransport' && !isRepeat(arrival));
    expect(others).toEqual([]);
    expect(errors).toEqual([]);
  });
});

/** Every way of streams to end meets every way of sessions. How many sessions became ready, by module. */
const ready = new Map<string, number>();
const everyModule = [...Object.entries(modules), ['listens', 'every session'] as const];

test.each(everyModule)(
  'a module that %s ends nothing else, however Firefox ends its streams and sessions',
  async (name) => {
    ready.set(name, Number(await onPage('/', (page) => page.evaluate(call(endSessionsInPage, [name])))));
    expect(await onPage('/', (page) => page.evaluate(call(echoInPage, ['still here'])))).toBe('still here');
  },
);

test('sessions that pages have left end with Firefox, and modules cost no more than they may', async () => {
  await firefox.stop();
  await gateway.allEnded();
  const lines = await gateway.logLines();
  for (const [name, cost] of everyModule) {
    const sessions = lines.filter(({ route, msg }) => route === `/${name}` && msg === 'webtransport session');
    const failures = lines.filter(
      ({ application, msg }) =>
        application === fileOf(name) && String(msg).startsWith('WebTransport application failed'),
    );
    console.log(
      `${name}: ${ready.get(name)} sessions became ready, ${sessions.length} ended, ${failures.length} failures`,
    );
    // What the module ends at once never becomes ready.
    expect(sessions.length).toBeGreaterThanOrEqual(Math.max(ready.get(name) ?? 0, 1));
    if (cost === 'nothing') expect(failures).toEqual([]);
    if (cost === 'every session') expect(failures.length).toBeGreaterThan(0);
  }
});
