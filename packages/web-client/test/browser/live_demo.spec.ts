import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { PNG } from 'pngjs';
import { expect, test as base } from './fixtures.js';
import { expectGoodLooks } from './looks.js';
import { SheafProcess } from './sheaf_process.js';

/** The pages of `sheaf demo --site live`. */
const test = base.extend<{ pages: { studio: string; watch: string } }>({
  pages: async ({}, use) => {
    const directory = await mkdtemp(join(tmpdir(), 'sheaf-live-test-'));
    const demo = new SheafProcess(['demo', '--site', 'live', '--port', '0', '--http-port', '0'], directory);
    await demo.run();
    const [, studio = ''] = await demo.told(/(http:\S+) {2}publishes/);
    const [, watch = ''] = await demo.told(/(http:\S+) {2}watches/);
    await use({ studio, watch });
    await demo.stop();
    await rm(directory, { recursive: true, force: true });
  },
});

// A drawing that moves is painted all the time, without a graphics processor.
test.use({ contextOptions: { reducedMotion: 'reduce' } });

const shown = async (page: Page): Promise<number> => Number(await page.textContent('#shown'));

/** Waits for so many further frames on the page. */
async function goOn(page: Page, frames: number): Promise<void> {
  const until = (await shown(page)) + frames;
  await expect.poll(() => shown(page)).toBeGreaterThanOrEqual(until);
}

/** Returns how many pixels of a picture have about the colour of the clock's seconds. */
function strawPixels(picture: Buffer): number {
  const { data } = PNG.sync.read(picture);
  let pixels = 0;
  for (let offset = 0; offset < data.length; offset += 4) {
    const [red, green, blue] = data.subarray(offset, offset + 3);
    if (red! > 200 && green! > 160 && green! < 230 && blue! < 140) pixels += 1;
  }
  return pixels;
}

async function look(page: Page, colorScheme: 'light' | 'dark', width: number, path: string): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme });
  await page.screenshot({ path, fullPage: true });
  await expectGoodLooks(page);
}

test('a page at the edge shows the clock on and on while its tree is cut, and looks good', async ({
  context,
  pages,
}, info) => {
  const errors: Error[] = [];
  const open = async (url: string): Promise<Page> => {
    const page = await context.newPage();
    page.on('pageerror', (error) => errors.push(error));
    await page.goto(url);
    return page;
  };
  const viewer = await open(pages.watch);
  await expect(viewer.locator('#waiting')).toBeVisible();
  await expect(viewer.locator('#studio')).toHaveAttribute('href', pages.studio);
  const studio = await open(pages.studio);
  await expect(studio.locator('#watch')).toHaveAttribute('href', pages.watch);
  const tree = viewer.getByRole('switch', { name: 'Multicast tree' });
  const happenings = viewer.locator('#happenings');
  await expect(happenings).toContainText('The edge hears the group');
  await goOn(viewer, 25);
  expect(strawPixels(await viewer.locator('#picture').screenshot())).toBeGreaterThan(500);
  await expect(viewer.locator('#tree')).toHaveClass(/by-group/);

  await tree.click();
  await expect(tree).toHaveAttribute('aria-checked', 'false');
  await expect(happenings).toContainText('The group is silent.');
  await goOn(viewer, 25);
  await expect(viewer.locator('#tree')).toHaveClass(/\bcut\b/);
  await expect(viewer.locator('#tree')).toHaveClass(/by-copies/);
  await look(viewer, 'light', 1280, info.outputPath('live-cut-light.png'));
  await look(viewer, 'dark', 390, info.outputPath('live-cut-phone-dark.png'));

  // A busy machine may miss the group for a moment, at any time.
  const heard = happenings.getByText('The edge hears the group');
  const before = await heard.count();
  await tree.click();
  await expect.poll(() => heard.count()).toBeGreaterThan(before);
  await expect(viewer.locator('#tree')).toHaveClass(/by-group/);
  await expect(viewer.locator('#tree')).not.toHaveClass(/\bcut\b/);
  await goOn(viewer, 25);
  await viewer.screenshot({ path: info.outputPath('live-mended.png'), fullPage: true });
  expect(await viewer.textContent('#lost')).toBe('0');
  await look(studio, 'dark', 1280, info.outputPath('studio-dark.png'));
  expect(errors).toEqual([]);
});
