import { GatewayProcess, type LoggedRequest } from './gateway.js';
import { expect, openThroughStart, test as base } from './fixtures.js';

/** A gateway with the pages of `fixtures/pages`. */
const test = base.extend<object, { pages: GatewayProcess }>({
  pages: [
    async ({}, use) => {
      const bench = new URL('../../../bench/dist/index.js', import.meta.url);
      const { ensurePages } = (await import(bench.href)) as { ensurePages(): Promise<string> };
      const gateway = await GatewayProcess.start(await ensurePages());
      await use(gateway);
      await gateway.remove();
    },
    { scope: 'worker' },
  ],
});

/** What a generated page knows of itself once all has arrived. */
interface PageState {
  readonly images: number;
  readonly brokenImages: string[];
  readonly fonts: string[];
  readonly scripts: number;
  /** Names of the Server-Timing entries that each resource has, where all have the same. */
  readonly timings: string[];
}

async function pageState(page: import('@playwright/test').Page): Promise<PageState> {
  await page.waitForSelector('html[data-complete]', { state: 'attached' });
  return page.evaluate(() => {
    const images = [...document.images].filter((image) => image.loading !== 'lazy');
    const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
    return {
      images: images.length,
      brokenImages: images.filter((image) => !image.complete || image.naturalWidth === 0).map(({ src }) => src),
      fonts: [...document.fonts].filter(({ status }) => status !== 'unloaded').map(({ status }) => status),
      scripts: Number(document.documentElement.dataset['scripts'] ?? 0),
      timings: [
        ...new Set(
          entries.map(({ serverTiming }) =>
            serverTiming
              .filter(({ duration }) => duration > 0)
              .map(({ name }) => name)
              .join(),
          ),
        ),
      ]
        .join()
        .split(','),
    };
  });
}

/** The first request for a path, as it arrived at the gateway. */
async function arrival(gateway: GatewayProcess, path: string): Promise<LoggedRequest> {
  let found: LoggedRequest | undefined;
  await expect
    .poll(async () => (found = (await gateway.requests()).find((request) => request.path === path)))
    .toBeDefined();
  return found!;
}

test.describe('a page of the published measurements, over the page session', () => {
  test('asks in the order of RFC 9218', async ({ page, pages }) => {
    await openThroughStart(page, pages.httpUrl, '/google/');
    expect(await pageState(page)).toMatchObject({ images: 2, brokenImages: [] });
    // A document is the first request of its page; data and pictures come later, and the documents of frames after them.
    expect(await arrival(pages, '/google/')).toMatchObject({
      via: 'webtransport',
      destination: 'document',
      priority: { urgency: 0, incremental: true },
    });
    expect(await arrival(pages, '/google/advanced_search.html')).toMatchObject({
      destination: 'iframe',
      priority: { urgency: 3, incremental: true },
    });
    expect(await arrival(pages, '/google/textinputassistant/tia.png')).toMatchObject({
      destination: 'image',
      priority: { urgency: 2, incremental: true },
    });
    expect(await arrival(pages, '/google/setprefs.xml')).toMatchObject({ priority: { urgency: 1, incremental: true } });
  });

  test('asks as Firefox does where its URL says so', async ({ page, pages }) => {
    await openThroughStart(page, pages.httpUrl, '/youtube/?sheaf-style=firefox');
    expect(await pageState(page)).toMatchObject({ images: 39, brokenImages: [] });
    const follower = { node: 7, parent: 0, weight: 201, exclusive: false };
    expect((await arrival(pages, '/youtube/')).priority.dependency).toMatchObject({ parent: 5, weight: 255 });
    expect((await arrival(pages, '/youtube/Assets/css/video.css')).priority).toMatchObject({
      dependency: { parent: 7, weight: 32 },
      groups: [follower],
    });
    expect((await arrival(pages, '/youtube/Assets/thumbnails/thumbnail7.jpg')).priority).toMatchObject({
      dependency: { parent: 11, weight: 42 },
      groups: [{ node: 11, parent: 7, weight: 2, exclusive: false }, follower],
    });
    expect((await arrival(pages, '/youtube/_DS_Store.bin')).priority.dependency).toMatchObject({
      parent: 9,
      weight: 32,
    });
  });

  test('asks as Chrome does, in one line, where the start page says so', async ({ page, pages }) => {
    await page.goto(`${pages.httpUrl}/.well-known/sheaf/start?to=/amazon/&style=chrome-chain`);
    await page.waitForURL(`${pages.httpUrl}/amazon/`);
    expect(await pageState(page)).toMatchObject({ images: 19, brokenImages: [], scripts: 1 });
    const [style, script, image] = await Promise.all(
      ['css/style.css', 'js/app.js', 'img/dress.png'].map((path) => arrival(pages, `/amazon/${path}`)),
    );
    expect(style?.priority.dependency).toMatchObject({ weight: 256, exclusive: true });
    expect(script?.priority.dependency).toMatchObject({ weight: 183, exclusive: true });
    expect(image?.priority.dependency).toMatchObject({ weight: 147, exclusive: true });
    // The pictures are asked for together: some of them while another of their level was in flight.
    const pictures = (await pages.requests()).filter(
      ({ path, destination }) => path.startsWith('/amazon/') && destination === 'image',
    );
    expect(pictures.some(({ priority }) => (priority.dependency?.parent ?? 0) > 0)).toBe(true);
  });
});

test.describe('a page of today, over the page session', () => {
  test('is asked for in the order of its markup', async ({ page, pages }) => {
    await openThroughStart(page, pages.httpUrl, '/news/');
    const state = await pageState(page);
    expect(state).toMatchObject({ brokenImages: [], scripts: 6, timings: ['sheaf-gateway', 'sheaf-webtransport'] });
    expect(state.fonts).toEqual(['loaded', 'loaded', 'loaded']);
    const urgencies = await Promise.all(
      [
        'assets/site.css',
        'assets/print.css',
        'assets/consent.js',
        'assets/main.js',
        'fonts/headline.woff2',
        'fonts/text.woff2',
        'images/lead.webp',
        'images/story-1.webp',
        'api/weather.json',
      ].map(async (path) => (await arrival(pages, `/news/${path}`)).priority.urgency),
    );
    expect(urgencies).toEqual([0, 4, 1, 3, 1, 0, 1, 2, 1]);
  });

  for (const [name, scripts] of [
    ['shop', 7],
    ['application', 8],
  ] as const) {
    test(`${name} is whole`, async ({ page, pages }) => {
      await openThroughStart(page, pages.httpUrl, `/${name}/`);
      const { brokenImages, fonts, ...state } = await pageState(page);
      expect(brokenImages).toEqual([]);
      expect(new Set(fonts)).toEqual(new Set(['loaded']));
      expect(state.scripts).toBe(scripts);
    });
  }
});

// The table of the style comes from Chromium's sources: here is what the browser does.
test('Chromium itself says over HTTP/3 what the style extensible says', async ({ pages, launchBrowser }) => {
  const browser = await launchBrowser(
    `--ignore-certificate-errors-spki-list=${await pages.publicKeyHash()}`,
    `--origin-to-force-quic-on=127.0.0.1:${pages.port}`,
  );
  const page = await browser.newPage();
  const said = async (url: string, via: string | undefined): Promise<Record<string, LoggedRequest['priority']>> => {
    const before = (await pages.requests()).length;
    await page.goto(url);
    await page.waitForSelector('html[data-complete]', { state: 'attached' });
    const requests = (await pages.requests())
      .slice(before)
      .filter((request) => request.via === via && request.path.startsWith('/news/'));
    // Chromium sends no field for what RFC 9218 takes for granted.
    return Object.fromEntries(
      requests.map(({ path, priority }) => [path, priority ?? { urgency: 3, incremental: false }]),
    );
  };
  const own = await said(`${pages.httpsUrl}/news/`, undefined);
  await page.goto(`${pages.httpsUrl}/.well-known/sheaf/start?to=/news/`);
  await page.waitForURL(`${pages.httpsUrl}/news/`);
  const ours = await said(`${pages.httpsUrl}/news/`, 'webtransport');
  // Lazy images are asked for when the browser sees fit.
  const asked = Object.keys(own).filter((path) => path in ours);
  expect(asked.length).toBeGreaterThan(20);
  for (const path of asked) {
    // The one difference that is meant: documents of frames, most urgent to Chromium, come after the pictures that are seen first.
    const urgency = path.endsWith('/frame.html') ? { urgency: 3 } : {};
    expect({ path, ...ours[path] }).toEqual({ path, ...own[path], ...urgency });
  }
});
