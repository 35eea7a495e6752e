import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { EdgeProcesses } from './edge.js';
import { carriers, demoState, expect, openThroughStart, test as base } from './fixtures.js';

const test = base.extend<{ edge: EdgeProcesses }>({
  edge: async ({ site }, use) => {
    const edge = await EdgeProcesses.start(site);
    await use(edge);
    await edge.remove();
  },
});

/** Cuts one of the two links in the middle of the page's 5 MB download, which arrives all the same. */
async function downloadOverCutLink(page: Page, edge: EdgeProcesses, site: string): Promise<void> {
  await expect.poll(async () => (await edge.received()).length).toBe(2);
  const before = await edge.received();
  await page.click('#download');
  // Both paths are carrying the download when one of them goes dark.
  await expect.poll(async () => Math.min(...(await edge.received()).map((bytes, path) => bytes - before[path]!)), { intervals: [20] }).toBeGreaterThan(300_000);
  edge.links[0]!.freeze();
  await expect(page.locator('#download-result')).not.toContainText('SHA-256');
  await expect(page.locator('#download-result')).toContainText('SHA-256');
  const expected = createHash('sha256').update(await readFile(join(site, 'download.bin'))).digest('hex');
  await expect(page.locator('#download-result')).toContainText(expected);
  expect((await edge.status()).gateway.opened).toBe(1);
}

test('a page over WebTransport finishes its download when one of the two links is cut', async ({ page, edge, site }) => {
  await openThroughStart(page, edge.httpUrl, '/');
  const state = await demoState(page);
  expect(carriers(state)).toEqual(['WebTransport']);
  expect(state.errors).toEqual([]);
  await downloadOverCutLink(page, edge, site);
});

test('a page over HTTP/3 finishes its download when one of the two links is cut', async ({ edge, launchBrowser, site }) => {
  const browser = await launchBrowser(
    `--ignore-certificate-errors-spki-list=${await edge.publicKeyHash()}`,
    `--origin-to-force-quic-on=127.0.0.1:${edge.port}`,
  );
  const page = await browser.newPage();
  await page.goto(edge.httpsUrl);
  const state = await demoState(page);
  expect(carriers(state)).toEqual(['HTTP/3']);
  expect(state.errors).toEqual([]);
  await downloadOverCutLink(page, edge, site);
});

test('the live page has its streams and datagrams echoed through an edge, also when a link is cut', async ({ page, edge }) => {
  await openThroughStart(page, edge.httpUrl, '/live/');
  await expect(page.locator('#state')).toHaveAttribute('data-state', 'open');
  const finished = async (): Promise<number> => Number(await page.textContent('#streams'));
  await expect.poll(finished).toBeGreaterThan(3);
  edge.links[0]!.freeze();
  const before = await finished();
  await expect.poll(finished).toBeGreaterThan(before + 5);
  await expect(page.locator('#state')).toHaveAttribute('data-state', 'open');
  expect((await edge.status()).gateway.opened).toBe(1);
});
