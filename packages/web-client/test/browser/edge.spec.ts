import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { EdgeProcesses } from './edge.js';
import { carriers, demoState, expect, openThroughStart, test as base } from './fixtures.js';
import { expectGoodLooks, inEachLook, screens } from './looks.js';

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
  await edge.linked.expectBothToCarry(300_000, before);
  edge.links[0]!.freeze();
  await expect(page.locator('#download-result')).not.toContainText('SHA-256');
  await expect(page.locator('#download-result')).toContainText('SHA-256');
  const expected = createHash('sha256')
    .update(await readFile(join(site, 'download.bin')))
    .digest('hex');
  await expect(page.locator('#download-result')).toContainText(expected);
  expect((await edge.status()).gateway.opened).toBe(1);
}

test('a page over WebTransport finishes its download when one of the two links is cut', async ({
  page,
  edge,
  site,
}) => {
  await openThroughStart(page, edge.httpUrl, '/');
  const state = await demoState(page);
  expect(carriers(state)).toEqual(['WebTransport']);
  expect(state.errors).toEqual([]);
  await downloadOverCutLink(page, edge, site);
});

test('a page over HTTP/3 finishes its download when one of the two links is cut', async ({
  edge,
  launchBrowser,
  site,
}) => {
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

test('the live page has its streams and datagrams echoed through an edge, also when a link is cut', async ({
  page,
  edge,
}) => {
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

for (const { screen, prefix, options } of screens) {
  test(`the live page charts both paths of the edge, in every look on a ${screen}`, async ({
    browser,
    edge,
  }, testInfo) => {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const errors: Error[] = [];
    page.on('pageerror', (error) => errors.push(error));
    await openThroughStart(page, edge.httpUrl, '/live/');
    await expect(page.locator('#paths-section')).toBeVisible();
    const rows = page.locator('#paths tr');
    await expect(rows).toHaveCount(2);
    await expect(page.locator('#paths-legend li')).toHaveCount(2);
    for (const chart of ['#path-rate-chart', '#path-round-trip-chart']) {
      for (const line of [0, 1]) {
        const drawn = async (): Promise<number> =>
          ((await page.locator(`${chart} .line`).nth(line).getAttribute('d')) ?? '').split('L').length;
        await expect.poll(drawn).toBeGreaterThan(5);
      }
    }
    // The links delay by 10 ms each way.
    const cell = (row: number, label: string) => rows.nth(row).locator(`td[data-label="${label}"]`);
    for (const row of [0, 1]) {
      await expect(cell(row, 'State')).toHaveText('active');
      await expect(cell(row, 'Lease')).toHaveText('–');
      expect(Number.parseFloat((await cell(row, 'Round trip').textContent()) ?? '')).toBeGreaterThan(20);
    }
    await page.click('#burst');
    const rate = async (row: number): Promise<number> =>
      Number.parseFloat((await cell(row, 'Now').textContent()) ?? '');
    // Both carry it; the first rate above that of the streams at rest.
    await expect.poll(async () => Math.min(await rate(0), await rate(1))).toBeGreaterThan(1);
    await page.waitForTimeout(3_000);
    await inEachLook(page, prefix, async (name) => {
      await page.screenshot({ path: testInfo.outputPath(`edge-live-${name}.png`), fullPage: true });
      await expectGoodLooks(page);
    });
    edge.links[0]!.freeze();
    await expect(cell(0, 'State')).toHaveText(/silent|abandoned|gone/);
    expect(errors).toEqual([]);
    await context.close();
  });
}
