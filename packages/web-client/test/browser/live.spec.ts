import { expect, openThroughStart, test } from './fixtures.js';
import { expectGoodLooks, looks } from './looks.js';

for (const { name, options } of looks) {
  test(`the live page, ${name}`, async ({ browser, gateway }, testInfo) => {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const errors: Error[] = [];
    page.on('pageerror', (error) => errors.push(error));
    await openThroughStart(page, gateway.httpUrl, '/live/');
    await expect(page.locator('#state')).toHaveAttribute('data-state', 'open');

    await expect.poll(async () => Number(await page.textContent('#streams'))).toBeGreaterThan(20);
    await expect.poll(async () => Number(await page.textContent('#datagrams'))).toBeGreaterThan(20);
    expect(Number(await page.textContent('#round-trip'))).toBeGreaterThan(0);
    await expect(page.locator('#throughput-chart .line')).toHaveCount(2);
    // This page came through no edge.
    await expect(page.locator('#paths-section')).toBeHidden();
    await expect(page.locator('#loads tr', { hasText: 'WebTransport' })).not.toHaveCount(0);

    await page.click('#burst');
    const peak = async (): Promise<number> =>
      Number(/[\d.]+/.exec((await page.textContent('#throughput-detail')) ?? '')?.[0]);
    await expect.poll(peak).toBeGreaterThan(5);
    await page.screenshot({ path: testInfo.outputPath(`live-${name}.png`), fullPage: true });
    await page.click('#pause');
    await expect(page.locator('#streams-detail')).toContainText('0 open');

    await expectGoodLooks(page);
    expect(errors).toEqual([]);
    await context.close();
  });

  test(`the demo page, ${name}`, async ({ browser, gateway }, testInfo) => {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    await openThroughStart(page, gateway.httpUrl, '/');
    await page.waitForSelector('html[data-ready]');
    await expectGoodLooks(page);
    await page.screenshot({ path: testInfo.outputPath(`demo-${name}.png`), fullPage: true });
    await context.close();
  });
}
