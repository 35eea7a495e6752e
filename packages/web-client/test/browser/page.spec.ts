import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { carriers, demoState, expect, loaderStatus, openThroughStart, test } from './fixtures.js';

const RESOURCES = 22;

test.describe('over WebTransport, by the page loader', () => {
  test.beforeEach(async ({ page, gateway }) => openThroughStart(page, gateway.httpUrl, '/'));

  test('every resource of a page arrives on a stream', async ({ page }) => {
    const state = await demoState(page);
    expect(carriers(state)).toEqual(['WebTransport']);
    expect(state.arrivals).toHaveLength(RESOURCES);
    expect(state.errors).toEqual([]);
    expect([...state.scripts].sort()).toEqual(['async', 'classic', 'module']);
    expect(await page.evaluate(() => document.fonts.check('700 16px Archivo'))).toBe(true);
    expect(await loaderStatus(page)).toMatchObject({ session: { state: 'open', sessions: 1 } });
  });

  test('further navigations use the same session', async ({ page }) => {
    await page.click('text=How it is tied');
    await expect(page).toHaveTitle('Sheaf: how it is tied');
    await page.goBack();
    // Going back, a browser takes what it has; the rest is validated over the session.
    expect(carriers(await demoState(page)).filter((carrier) => carrier !== 'cache')).toEqual(['WebTransport']);
    expect(await loaderStatus(page)).toMatchObject({ session: { sessions: 1 } });
  });

  test('a 5 MB download arrives unharmed', async ({ page, site }) => {
    await page.click('#download');
    await expect(page.locator('#download-result')).toContainText('SHA-256');
    const expected = createHash('sha256').update(await readFile(join(site, 'download.bin')));
    await expect(page.locator('#download-result')).toContainText(expected.digest('hex'));
  });

  test('an upload of 3 MB arrives unharmed behind the gateway', async ({ page }) => {
    const buffer = randomBytes(3_000_000);
    await page.setInputFiles('#file', { name: 'a.bin', mimeType: 'application/octet-stream', buffer });
    await page.click('#upload button');
    const expected = createHash('sha256').update(buffer).digest('hex');
    await expect(page.locator('#upload-result')).toContainText(expected);
  });

  test('a form that is posted by navigation arrives too', async ({ page }) => {
    const buffer = randomBytes(200_000);
    await page.setInputFiles('#file', { name: 'a.bin', mimeType: 'application/octet-stream', buffer });
    // `submit()` goes past the page's own handler, as without scripts.
    await page.evaluate(() => document.querySelector<HTMLFormElement>('#upload')!.submit());
    await page.waitForURL('**/upload');
    const answer = JSON.parse((await page.textContent('body')) ?? '') as { bytes: number };
    // Multipart adds its boundaries.
    expect(answer.bytes).toBeGreaterThan(buffer.length);
    expect(answer.bytes).toBeLessThan(buffer.length + 1_000);
  });

  test('a download that is abandoned stops, and the session goes on', async ({ page }) => {
    const outcome = await page.evaluate(async () => {
      const abort = new AbortController();
      const response = await fetch('/download.bin', { signal: abort.signal });
      await response.body!.getReader().read();
      abort.abort();
      const next = await fetch('/scripts/format.js');
      return [next.status, next.headers.get('server-timing')?.includes('sheaf-webtransport')];
    });
    expect(outcome).toEqual([200, true]);
    expect(await loaderStatus(page)).toMatchObject({ session: { sessions: 1 } });
  });

  test('frames and lazy pictures are loaded over the session', async ({ page }) => {
    const carriedBy = await page.evaluate(async () => {
      const frame = Object.assign(document.createElement('iframe'), { src: '/paths/' });
      const picture = Object.assign(new Image(), { loading: 'lazy', src: '/images/plate-1.png?lazy' });
      const loaded = [frame, picture].map(
        (element) => new Promise((resolve) => element.addEventListener('load', resolve)),
      );
      document.body.append(frame, picture);
      picture.scrollIntoView();
      await Promise.all(loaded);
      const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
      return ['/paths/', '?lazy'].map((end) =>
        entries.find(({ name }) => name.endsWith(end))?.serverTiming.map(({ name }) => name),
      );
    });
    const names = ['sheaf-gateway', 'sheaf-webtransport'];
    expect(carriedBy).toEqual([names, names]);
  });

  test('ranges, missing files and conditional requests work as ever', async ({ page }) => {
    const answers = await page.evaluate(async () => {
      const range = await fetch('/download.bin', { headers: { range: 'bytes=100-199' } });
      const missing = await fetch('/nowhere');
      const first = await fetch('/styles/type.css');
      const etag = first.headers.get('etag') ?? '';
      const again = await fetch('/styles/type.css', { headers: { 'if-none-match': etag } });
      return {
        range: [range.status, (await range.arrayBuffer()).byteLength],
        missing: missing.status,
        etag: etag !== '',
        again: again.status,
      };
    });
    expect(answers).toEqual({ range: [206, 100], missing: 404, etag: true, again: 304 });
  });

  test('two hundred requests at once are all answered', async ({ page }) => {
    const lengths = await page.evaluate(() =>
      Promise.all(
        Array.from({ length: 200 }, async (_value, index) => {
          const response = await fetch(`/scripts/format.js?${index}`);
          return response.status === 200 ? (await response.text()).length : -response.status;
        }),
      ),
    );
    expect(new Set(lengths).size).toBe(1);
    expect(lengths[0]).toBeGreaterThan(0);
  });
});

test('a visitor who came without the page loader is offered it', async ({ gateway, page }) => {
  await page.goto(gateway.httpUrl);
  expect(carriers(await demoState(page))).toEqual(['HTTP/1.1']);
  await page.click('text=Load this page over WebTransport');
  await page.waitForURL(`${gateway.httpUrl}/`);
  await expect(page.locator('#arrival-summary')).toContainText('carried by WebTransport');
  await expect(page.locator('#arrival-again')).toBeHidden();
});

test('over plain HTTP/3', async ({ gateway, launchBrowser }) => {
  const browser = await launchBrowser(
    `--ignore-certificate-errors-spki-list=${await gateway.publicKeyHash()}`,
    `--origin-to-force-quic-on=127.0.0.1:${gateway.port}`,
  );
  const page = await browser.newPage();
  await page.goto(gateway.httpsUrl);
  const state = await demoState(page);
  expect(carriers(state)).toEqual(['HTTP/3']);
  expect(state.arrivals).toHaveLength(RESOURCES);
  expect(state.errors).toEqual([]);
  const protocol = 'performance.getEntriesByType("navigation")[0].nextHopProtocol';
  expect(await page.evaluate(protocol)).toBe('h3');
});

test('over TCP where WebTransport is missing', async ({ gateway, launchBrowser }) => {
  const browser = await launchBrowser(
    `--ignore-certificate-errors-spki-list=${await gateway.publicKeyHash()}`,
    '--disable-quic',
  );
  const context = await browser.newContext();
  await context.addInitScript('delete globalThis.WebTransport');
  const page = await context.newPage();
  await openThroughStart(page, gateway.httpsUrl, '/');
  const state = await demoState(page);
  expect(carriers(state)).toEqual(['HTTP/2']);
  expect(state.arrivals).toHaveLength(RESOURCES);
  expect(state.errors).toEqual([]);
});

test('over TCP where UDP does not get through', async ({ gateway, page }) => {
  // Passes everything on but names a UDP port where nobody listens, as behind a strict firewall.
  const firewall = createServer(async (request, response) => {
    const upstream = await fetch(gateway.httpUrl + (request.url ?? '/'));
    const answer = request.url?.endsWith('/certificate-hashes')
      ? Buffer.from(JSON.stringify({ ...((await upstream.json()) as object), authority: '127.0.0.1:9' }))
      : Buffer.from(await upstream.arrayBuffer());
    response.writeHead(upstream.status, {
      'content-type': upstream.headers.get('content-type') ?? '',
      'service-worker-allowed': '/',
    });
    response.end(answer);
  });
  await new Promise<void>((resolve) => firewall.listen(0, '127.0.0.1', resolve));
  const origin = `http://localhost:${(firewall.address() as AddressInfo).port}`;
  try {
    await openThroughStart(page, origin, '/');
    const state = await demoState(page);
    expect(carriers(state)).not.toContain('WebTransport');
    expect(state.arrivals).toHaveLength(RESOURCES);
    expect(state.errors).toEqual([]);
    expect(await loaderStatus(page)).toMatchObject({ session: { state: 'waiting', sessions: 0 } });
  } finally {
    firewall.close();
    firewall.closeAllConnections();
  }
});

test('the start page leads nowhere but to its own origin', async ({ gateway, page }) => {
  for (const to of ['https://example.com/', '//example.com/', 'javascript:alert(1)', '/.well-known/sheaf/start']) {
    await page.goto(`${gateway.httpUrl}/.well-known/sheaf/start?to=${encodeURIComponent(to)}`);
    await page.waitForURL(`${gateway.httpUrl}/`);
  }
});
