import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, test as base, type Browser, type Page } from '@playwright/test';
import { GatewayProcess } from './gateway.js';

const demo = new URL('../../../../fixtures/demo/', import.meta.url);

/** What the demo page puts into `window.demo`. */
export interface DemoState {
  readonly scripts: string[];
  readonly errors: string[];
  readonly arrivals: { path: string; carriedBy: string; bytes: number }[];
}

/** Starts a Chromium with further switches; closed with the test. */
type LaunchBrowser = (...switches: string[]) => Promise<Browser>;

export const test = base.extend<{ launchBrowser: LaunchBrowser }, { site: string; gateway: GatewayProcess }>({
  site: [
    async ({}, use) => {
      const directory = await mkdtemp(join(tmpdir(), 'sheaf-demo-site-'));
      const { buildDemoSite } = (await import(new URL('build.mjs', demo).href)) as {
        buildDemoSite(directory: string): Promise<string>;
      };
      await use(await buildDemoSite(directory));
      await rm(directory, { recursive: true, force: true });
    },
    { scope: 'worker' },
  ],
  gateway: [
    async ({ site }, use) => {
      const { startUploadReceiver } = (await import(new URL('upload_receiver.mjs', demo).href)) as {
        startUploadReceiver(): Promise<Server>;
      };
      const uploads = await startUploadReceiver();
      const { port } = uploads.address() as AddressInfo;
      const gateway = await GatewayProcess.start(site, `http://127.0.0.1:${port}`);
      await use(gateway);
      await gateway.remove();
      uploads.close();
      uploads.closeAllConnections();
    },
    { scope: 'worker' },
  ],
  launchBrowser: async ({ launchOptions }, use) => {
    const browsers: Browser[] = [];
    await use(async (...switches) => {
      const browser = await chromium.launch({
        ...launchOptions,
        args: [...(launchOptions.args ?? []), ...switches],
      });
      browsers.push(browser);
      return browser;
    });
    for (const browser of browsers) await browser.close();
  },
});

export { expect } from '@playwright/test';

/** Goes to a page by way of the start page, as a visitor's first load does. */
export async function openThroughStart(page: Page, origin: string, path: string): Promise<void> {
  await page.goto(`${origin}/.well-known/sheaf/start?to=${encodeURIComponent(path)}`);
  await page.waitForURL(origin + path);
}

/** What the demo page found out about itself, once it has loaded. */
export async function demoState(page: Page): Promise<DemoState> {
  await page.waitForSelector('html[data-ready]');
  return page.evaluate<DemoState>('window.demo');
}

/** The names of what carried the page's resources, without repetition. */
export function carriers({ arrivals }: DemoState): string[] {
  return [...new Set(arrivals.map(({ carriedBy }) => carriedBy))];
}

/** The page loader's status, as its message protocol tells it. */
export async function loaderStatus(
  page: Page,
): Promise<{ session: { state: string; sessions: number; failure?: string } }> {
  return page.evaluate(async () => {
    const { port1, port2 } = new MessageChannel();
    const reply = new Promise((resolve) => {
      port1.onmessage = ({ data }): void => resolve(data);
    });
    navigator.serviceWorker.controller?.postMessage({ type: 'status' }, [port2]);
    return reply as Promise<{ session: { state: string; sessions: number } }>;
  });
}
