import type { Page } from '@playwright/test';
import { expect, openThroughStart, test as base } from './fixtures.js';
import { expectGoodLooks, inEachLook, screens } from './looks.js';
import { MultiEndSite } from './multi_end_site.js';
import { noiseImage } from './noise_image.js';

const images = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`${index}.bmp`, noiseImage(592, index)]));
const bytes = images['0.bmp']!.bmp.length;

/** The page of the gateway and of the backends. */
const gallery = `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <title>Pictures of three backends</title>
  <h1>Pictures</h1>
${Object.keys(images)
  .map((name) => `  <img src="${name}" alt="Noise ${name}" width="100" height="100" />\n`)
  .join('')}</html>
`;

const test = base.extend<{ multiEnd: MultiEndSite }>({
  multiEnd: async ({ site }, use) => {
    const pictures = Object.entries(images).map(([name, { bmp }]) => [name, bmp] as const);
    const multiEnd = await MultiEndSite.start(site, {
      'index.html': Buffer.from(gallery),
      ...Object.fromEntries(pictures),
    });
    await use(multiEnd);
    await multiEnd.remove();
  },
});

/** The edge has its connection, and has opened the paths to all backends. */
async function waitForBackends(multiEnd: MultiEndSite): Promise<void> {
  await expect
    .poll(async () => (await multiEnd.gateway()).backends.map(({ state }) => state))
    .toEqual(['serving', 'serving', 'serving']);
  expect((await fetch(multiEnd.httpUrl)).status).toBe(200);
  await expect
    .poll(async () => (await multiEnd.edge()).gateway.connections[0]?.backends.map(({ state }) => state))
    .toEqual(['open', 'open', 'open']);
}

/** Bytes that came from each backend, directly, in the order of their ids. */
async function received(multiEnd: MultiEndSite): Promise<number[]> {
  const backends = (await multiEnd.edge()).gateway.connections[0]?.backends ?? [];
  return backends.sort((left, right) => left.backend - right.backend).map(({ bytesReceived }) => bytesReceived);
}

/** What every picture of the page shows: the SHA-256 of its pixels. */
async function shown(page: Page): Promise<Record<string, string>> {
  return page.evaluate(async () => {
    const hashOf = async (image: HTMLImageElement): Promise<string> => {
      const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
      const context = canvas.getContext('2d');
      context?.drawImage(image, 0, 0);
      const pixels = context?.getImageData(0, 0, canvas.width, canvas.height).data ?? new Uint8ClampedArray();
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', pixels));
      return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    };
    return Object.fromEntries(
      await Promise.all(
        [...document.images].map(
          async (image) => [new URL(image.src).pathname.slice('/images/'.length), await hashOf(image)] as const,
        ),
      ),
    );
  });
}

test.setTimeout(600_000);

test('a page over HTTP/3 whose pictures come from three backends is complete although one of them is killed', async ({
  multiEnd,
  launchBrowser,
}) => {
  await waitForBackends(multiEnd);
  const before = await received(multiEnd);
  const browser = await launchBrowser(
    `--ignore-certificate-errors-spki-list=${await multiEnd.publicKeyHash()}`,
    `--origin-to-force-quic-on=127.0.0.1:${multiEnd.edgePort}`,
  );
  const page = await browser.newPage();
  const failed: string[] = [];
  page.on('requestfailed', (request) => failed.push(request.url()));
  // The links carry 6 Mbit/s each: the pictures take seconds, and all three backends are sending when one of them dies.
  const loaded = page.goto(`${multiEnd.httpsUrl}/images/`, { waitUntil: 'load' });
  await expect
    .poll(async () => Math.min(...(await received(multiEnd)).map((count, backend) => count - before[backend]!)), {
      intervals: [20],
    })
    .toBeGreaterThan(200_000);
  await multiEnd.process('backend2').stop('SIGKILL');
  await loaded;

  expect(failed).toEqual([]);
  expect(await shown(page)).toEqual(
    Object.fromEntries(Object.entries(images).map(([name, { pixelsSha256 }]) => [name, pixelsSha256])),
  );
  expect(
    await page.evaluate(() => [
      ...new Set(
        performance.getEntriesByType('resource').map((entry) => (entry as PerformanceResourceTiming).nextHopProtocol),
      ),
    ]),
  ).toEqual(['h3']);

  // One connection, whose gateway carried no picture and sent less than one.
  expect((await multiEnd.edge()).gateway.opened).toBe(1);
  const { backends, transport } = await multiEnd.gateway();
  expect(backends.map(({ proxied }) => proxied)).toEqual([0, 0, 0]);
  expect(await multiEnd.images('center')).toEqual([]);
  expect(transport.bytesSent).toBeLessThan(bytes);
  const rests: number[] = [];
  for (const name of ['backend1', 'backend3']) {
    const { guests, transport: own } = await multiEnd.backend(name);
    // The edge's connection was handed over: nobody shook hands with a backend.
    expect([guests, own.connectionsAccepted]).toEqual([1, 0]);
    const answers = await multiEnd.images(name);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    expect(own.bytesSent).toBeGreaterThan(answers.reduce((sum, answer) => sum + answer.bytes, 0));
    rests.push(...answers.filter(({ status }) => status === 206).map((answer) => answer.bytes));
  }
  // What the dead backend still owed came from the others, and nothing that it had sent came again.
  expect(rests.length).toBeGreaterThan(0);
  for (const rest of rests) expect(rest).toBeLessThan(bytes);
});

test('the live page charts the paths to the gateway and to each backend with its lease, in every look', async ({
  browser,
  multiEnd,
}, testInfo) => {
  await waitForBackends(multiEnd);
  for (const { prefix, options } of screens) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const errors: Error[] = [];
    page.on('pageerror', (error) => errors.push(error));
    await openThroughStart(page, multiEnd.httpUrl, '/live/');
    const rows = page.locator('#paths tr');
    await expect(rows).toHaveCount(4);
    const servers = async (): Promise<(string | null)[]> =>
      Promise.all((await rows.all()).map((row) => row.locator('[data-label=Server]').textContent()));
    expect((await servers()).sort()).toEqual(['backend 0', 'backend 1', 'backend 2', 'gateway']);
    await expect(page.locator('#paths-legend li', { hasText: /^backend \d: / })).toHaveCount(3);
    // Bytes per backend: what a backend sends is in its own row.
    const ofBackends = rows.filter({ hasText: /backend \d/ });
    const megabytesReceived = async (): Promise<number> =>
      (await ofBackends.locator('[data-label=Received]').allTextContents()).reduce(
        (sum, text) => sum + (text.endsWith('MB') ? Number.parseFloat(text) : 0),
        0,
      );
    const before = await megabytesReceived();
    expect((await (await fetch(`${multiEnd.httpUrl}/images/0.bmp`)).arrayBuffer()).byteLength).toBe(bytes);
    await expect.poll(megabytesReceived).toBeGreaterThan(before);
    // Each backend tells its lease: it has used at least what it sent of the picture; the gateway has none.
    await expect(rows.filter({ hasText: 'gateway' }).locator('[data-label=Lease]')).toHaveText('–');
    const leases = async (): Promise<string[]> =>
      Promise.all(
        (await ofBackends.all()).map(async (row) => (await row.locator('[data-label=Lease]').textContent()) ?? ''),
      );
    await expect.poll(async () => (await leases()).every((text) => /^[\d.]+ of [\d.]+ [KM]?B$/.test(text))).toBe(true);
    const megabytesUsed = async (): Promise<number> =>
      (await leases()).reduce((sum, text) => sum + (text.endsWith('MB') ? Number.parseFloat(text) : 0), 0);
    await expect.poll(megabytesUsed).toBeGreaterThan((0.9 * bytes) / 1024 ** 2);
    const drawn = async (): Promise<number> =>
      ((await page.locator('#path-rate-chart .line').nth(3).getAttribute('d')) ?? '').split('L').length;
    await expect.poll(drawn).toBeGreaterThan(3);
    await inEachLook(page, prefix, async (name) => {
      await page.locator('#paths-section').screenshot({ path: testInfo.outputPath(`backends-live-${name}.png`) });
      await expectGoodLooks(page);
    });
    expect(errors).toEqual([]);
    await context.close();
  }
  const page = await browser.newPage();
  await openThroughStart(page, multiEnd.httpUrl, '/live/');
  await expect(page.locator('#paths tr')).toHaveCount(4);
  await multiEnd.process('backend2').stop('SIGKILL');
  await expect(page.locator('#paths tr', { hasText: 'backend 1' }).locator('[data-label=State]')).toHaveText(
    /silent|abandoned|gone/,
  );
  await page.close();
});
