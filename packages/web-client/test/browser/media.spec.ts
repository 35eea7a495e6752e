import type { Page } from '@playwright/test';
import { PNG } from 'pngjs';
import { expect, test as base } from './fixtures.js';
import { GatewayProcess } from './gateway.js';
import { buildMediaSite } from './media/media_site.js';
import type { MediaPage } from './media/media_page.js';

declare const media: MediaPage;

const test = base.extend<{ live: GatewayProcess; open: (page: string) => Promise<Page> }>({
  live: async ({}, use) => {
    const site = await buildMediaSite();
    const files = `{ files: ${JSON.stringify(site.directory)} }`;
    const gateway = await GatewayProcess.startWith(['{ path: /live, media: {} }', files]);
    await use(gateway);
    await gateway.remove();
    await site.remove();
  },
  open: async ({ live, launchBrowser }, use) => {
    // One browser for all pages: those in the background go on, since headless Chromium throttles none.
    const browser = await launchBrowser();
    await use(async (name) => {
      const page = await browser.newPage();
      await page.goto(`${live.httpUrl}/${name}.html`);
      return page;
    });
  },
});

/** Publishes the clock from a page of its own. */
async function publishClock(open: (page: string) => Promise<Page>, url: string): Promise<Page> {
  const page = await open('publish_clock');
  await page.evaluate(([to, name]) => media.publish!(to!, name!), [url, clock]);
  return page;
}

const clock = 'studio/clock';
const hashes = (page: Page): Promise<Record<string, string>> => page.evaluate(() => media.hashes);
const framesShown = (page: Page): Promise<number> => page.evaluate(() => media.framesShown?.() ?? 0);

/** Returns how many pixels of a picture have about the colour of the clock's digits. */
function digitPixels(picture: Buffer): number {
  const { data } = PNG.sync.read(picture);
  let pixels = 0;
  for (let offset = 0; offset < data.length; offset += 4) {
    const [red, green, blue] = data.subarray(offset, offset + 3);
    if (red! > 200 && green! > 160 && green! < 240 && blue! < 160) pixels += 1;
  }
  return pixels;
}

test('frames that a page publishes by moq-lite reach another page unchanged', async ({ live, open }) => {
  const url = `${live.httpsUrl}/live`;
  const publisher = await publishClock(open, url);
  const viewer = await open('receive_frames');
  await viewer.evaluate(([to, name]) => media.watch!(to!, name!), [url, clock]);
  await expect.poll(async () => Object.keys(await hashes(viewer)).length).toBeGreaterThan(60);
  const [received, sent] = [await hashes(viewer), await hashes(publisher)];
  expect(Object.entries(received).filter(([frame, hash]) => sent[frame] !== hash)).toEqual([]);
  expect(await viewer.evaluate(() => media.version)).toBe('moq-lite-05');
});

test('the player of @moq/watch shows the clock', async ({ live, open }, info) => {
  const url = `${live.httpsUrl}/live`;
  await publishClock(open, url);
  const viewer = await open('watch_element');
  await viewer.evaluate(([to, name]) => media.watch!(to!, name!), [url, clock]);
  await expect.poll(() => framesShown(viewer)).toBeGreaterThan(60);
  const picture = await viewer.locator('canvas').screenshot({ path: info.outputPath('watch.png') });
  expect(digitPixels(picture)).toBeGreaterThan(300);
});

test('hls.js plays the clock, part by part', async ({ live, open }, info) => {
  await publishClock(open, `${live.httpsUrl}/live`);
  const viewer = await open('hls');
  await viewer.evaluate((url) => media.watch!(url, ''), `${live.httpUrl}/live/${clock}/index.m3u8`);
  await expect.poll(() => framesShown(viewer)).toBeGreaterThan(60);
  expect(await viewer.evaluate(() => media.partsLoaded!())).toBeGreaterThan(5);
  const picture = await viewer.locator('video').screenshot({ path: info.outputPath('hls.png') });
  expect(digitPixels(picture)).toBeGreaterThan(300);
});
