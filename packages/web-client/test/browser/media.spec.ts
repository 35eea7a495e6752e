import type { Page } from '@playwright/test';
import type { FrameCounts } from '@sheaf/web-client/signed-media';
import { PNG } from 'pngjs';
import { ChannelEdge } from './channel_edge.js';
import { EdgeProcesses } from './edge.js';
import { launchFirefox, missingFirefox } from './firefox.js';
import { expect, test as base } from './fixtures.js';
import { GatewayProcess } from './gateway.js';
import { buildMediaSite } from './media/media_site.js';
import type { MediaPage, PublishOptions } from './media/media_page.js';

declare const media: MediaPage;

/** What pages talk to. */
interface Origins {
  readonly httpUrl: string;
  readonly httpsUrl: string;
}

type Open = (from: Origins, page: string) => Promise<Page>;

const route = '{ path: /live, media: {} }';

interface Fixtures {
  mediaSite: string;
  live: Origins;
  edge: Origins;
  tree: ChannelEdge;
  /** What takes broadcasts of an edge that lies. It is the only node that its viewers talk to. */
  liar: GatewayProcess;
  open: Open;
}

const test = base.extend<Fixtures>({
  mediaSite: async ({}, use) => {
    const site = await buildMediaSite();
    await use(site.directory);
    await site.remove();
  },
  live: async ({ mediaSite }, use) => {
    const gateway = await GatewayProcess.startWith([route, `{ files: ${JSON.stringify(mediaSite)} }`]);
    await use(gateway);
    await gateway.remove();
  },
  edge: async ({ mediaSite }, use) => {
    const edge = await EdgeProcesses.start(mediaSite, ['{ path: /live, media: { publish: 127.0.0.1 } }']);
    await use(edge);
    await edge.remove();
  },
  tree: async ({ mediaSite }, use) => {
    const nodes = await ChannelEdge.start(mediaSite);
    await use(nodes);
    await nodes.remove();
  },
  liar: async ({}, use) => {
    const gateway = await GatewayProcess.startWith([route]);
    await use(gateway);
    await gateway.remove();
  },
  open: async ({ launchBrowser }, use) => {
    // One browser for all pages: those in the background go on, since headless Chromium throttles none.
    const browser = await launchBrowser();
    await use(async (from, name) => {
      const page = await browser.newPage();
      await page.goto(`${from.httpUrl}/${name}.html`);
      return page;
    });
  },
});

/** Publishes the clock from a page of its own. */
async function publishClock(
  open: Open,
  to: Origins,
  options: PublishOptions = { codec: vp9, sound: false },
): Promise<Page> {
  const page = await open(to, 'publish_clock');
  const given = { url: `${to.httpsUrl}/live`, name: clock, options };
  await page.evaluate(({ url, name, options: how }) => media.publish!(url, name, how), given);
  return page;
}

/** Opens a page that watches the clock: by moq-lite, or its playlist. */
async function watchClock(open: Open, from: Origins, name: 'receive_frames' | 'watch_element' | 'hls'): Promise<Page> {
  const page = await open(from, name);
  const url = name === 'hls' ? `${from.httpUrl}/live/${clock}/index.m3u8` : `${from.httpsUrl}/live`;
  await page.evaluate(([to, broadcast]) => media.watch!(to!, broadcast!), [url, clock]);
  return page;
}

/** What a page is told of a publisher: its key, and the certificates of nodes that it talks to */
interface Trust {
  publicKey: string;
  certificates: string[];
  withoutEd25519?: boolean;
}

/** Opens a page of `from` that shows what the publisher signed, and talks to `node` alone for it. */
async function watchVerified(open: Open, from: Origins, node: Origins, trust: Trust): Promise<Page> {
  const page = await open(from, 'watch_verified');
  await page.evaluate((given) => Object.assign(media, given), trust);
  await page.evaluate(([url, name]) => media.watch!(url!, name!), [`${node.httpsUrl}/live`, clock]);
  return page;
}

/** Lets a page take the clock from one node, and publish it at another one with forgeries. */
async function forgeClock(open: Open, from: Origins, to: GatewayProcess, certificates: string[]): Promise<Page> {
  const page = await open(from, 'forge');
  await page.evaluate((given) => (media.certificates = given), certificates);
  const urls = [`${from.httpsUrl}/live`, `${to.httpsUrl}/live`, clock];
  await page.evaluate(([source, target, name]) => media.forge!(source!, target!, name!), urls);
  return page;
}

async function certificatesOf({ httpUrl }: Origins): Promise<string[]> {
  const response = await fetch(`${httpUrl}/.well-known/sheaf/certificate-hashes`);
  return ((await response.json()) as { hashes: string[] }).hashes;
}

const countsOf = (page: Page): Promise<FrameCounts | undefined> => page.evaluate(() => media.counts);

/** Returns the frames that one page has otherwise than another one, or that the other one does not have. */
async function differing(received: Page, sent: Page): Promise<string[]> {
  const [here, there] = [await hashes(received), await hashes(sent)];
  return Object.keys(here).filter((frame) => here[frame] !== there[frame]);
}

const clock = 'studio/clock';
const vp9 = 'vp09.00.10.08';
const av1 = 'av01.0.04M.08';
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
  const publisher = await publishClock(open, live);
  const viewer = await watchClock(open, live, 'receive_frames');
  await expect.poll(async () => Object.keys(await hashes(viewer)).length).toBeGreaterThan(60);
  expect(await differing(viewer, publisher)).toEqual([]);
  expect(await viewer.evaluate(() => media.version)).toBe('moq-lite-05');
});

test('the player of @moq/watch shows the clock', async ({ live, open }, info) => {
  await publishClock(open, live);
  const viewer = await watchClock(open, live, 'watch_element');
  await expect.poll(() => framesShown(viewer)).toBeGreaterThan(60);
  const picture = await viewer.locator('canvas').screenshot({ path: info.outputPath('watch.png') });
  expect(digitPixels(picture)).toBeGreaterThan(300);
});

test('hls.js plays the clock, part by part', async ({ live, open }, info) => {
  await publishClock(open, live);
  const viewer = await watchClock(open, live, 'hls');
  await expect.poll(() => framesShown(viewer)).toBeGreaterThan(60);
  await expect.poll(() => viewer.evaluate(() => media.partsLoaded!())).toBeGreaterThan(5);
  const picture = await viewer.locator('video').screenshot({ path: info.outputPath('hls.png') });
  expect(digitPixels(picture)).toBeGreaterThan(300);
});

test('hls.js plays AV1 with sound in Opus', async ({ live, open }) => {
  await publishClock(open, live, { codec: av1, sound: true });
  const viewer = await watchClock(open, live, 'hls');
  await expect.poll(() => framesShown(viewer)).toBeGreaterThan(60);
  await expect.poll(() => viewer.evaluate(() => media.soundDecoded!())).toBeGreaterThan(1_000);
  expect(digitPixels(await viewer.locator('video').screenshot())).toBeGreaterThan(300);
});

test('both players show the clock through an edge', async ({ edge, open }) => {
  await publishClock(open, edge);
  const viewers = [await watchClock(open, edge, 'watch_element'), await watchClock(open, edge, 'hls')];
  for (const viewer of viewers) {
    await expect.poll(() => framesShown(viewer)).toBeGreaterThan(60);
    expect(digitPixels(await viewer.locator('canvas, video').screenshot())).toBeGreaterThan(300);
  }
});

test('both players show the clock at an edge that receives it by multicast', async ({ tree, open }, info) => {
  await expect.poll(async () => (await tree.received()).state).toBe('receiving');
  const publisher = await publishClock(open, tree.gateway);
  const [viewer, player, hls] = [
    await watchClock(open, tree.edge, 'receive_frames'),
    await watchClock(open, tree.edge, 'watch_element'),
    await watchClock(open, tree.edge, 'hls'),
  ];
  for (const page of [player, hls]) await expect.poll(() => framesShown(page)).toBeGreaterThan(60);
  await expect.poll(async () => Object.keys(await hashes(viewer)).length).toBeGreaterThan(60);
  expect(await differing(viewer, publisher)).toEqual([]);
  const pictures = [
    await player.locator('canvas').screenshot({ path: info.outputPath('watch.png') }),
    await hls.locator('video').screenshot({ path: info.outputPath('hls.png') }),
  ];
  for (const picture of pictures) expect(digitPixels(picture)).toBeGreaterThan(300);
  // A busy machine may miss the group for a moment, at any time.
  await expect.poll(() => tree.received()).toMatchObject({ state: 'receiving', expired: 0, viewers: 2 });
  expect((await tree.received()).fromGroup).toBeGreaterThan(0);
});

test('hls.js in Firefox plays the clock at an edge that receives it by multicast', async ({ tree, open }, info) => {
  const missing = missingFirefox();
  test.skip(missing !== undefined, missing);
  await expect.poll(async () => (await tree.received()).state).toBe('receiving');
  await publishClock(open, tree.gateway);
  const firefox = await launchFirefox();
  try {
    const page = await firefox.newPage();
    await page.goto(`${tree.edge.httpUrl}/hls.html`);
    await page.evaluate(
      ([url, name]) => media.watch!(url!, name!),
      [`${tree.edge.httpUrl}/live/${clock}/index.m3u8`, clock],
    );
    await expect.poll(() => page.evaluate(() => media.framesShown!())).toBeGreaterThan(30);
    expect(await page.evaluate(() => media.partsLoaded!())).toBeGreaterThan(3);
    const video = (await page.$('video'))!;
    const picture = await video.screenshot({ path: `${info.outputPath('firefox')}.png` });
    expect(digitPixels(Buffer.from(picture))).toBeGreaterThan(300);
  } finally {
    await firefox.close();
  }
  const { fromGroup, ...counts } = await tree.received();
  expect(fromGroup).toBeGreaterThan(0);
  expect(counts).toMatchObject({ state: 'receiving', expired: 0 });
});

test('viewers who verify see what the publisher signed, and nothing of what an edge forges', async ({
  tree,
  liar,
  open,
}, info) => {
  const publisher = await publishClock(open, tree.gateway, { codec: vp9, sound: false, groupFrames: 10 });
  const certificates = await certificatesOf(liar);
  const publicKey = await publisher.evaluate(() => media.publicKey!);
  const trust = { publicKey, certificates };
  const forger = await forgeClock(open, tree.edge, liar, certificates);

  // The pages and the key come from the gateway, which the viewers trust.
  const behindHonestEdge = await watchVerified(open, tree.gateway, tree.edge, trust);
  const careful = await watchVerified(open, tree.gateway, liar, { ...trust, withoutEd25519: true });

  const forgeries = (): Promise<Record<string, string[]>> => forger.evaluate(() => media.forgeries!);
  await expect.poll(async () => Object.keys(await forgeries()).length).toBe(8);
  for (const kind of ['forged', 'unsigned', 'missing', 'refusedStatements'] as const)
    await expect.poll(async () => (await countsOf(careful))?.[kind] ?? 0).toBeGreaterThan(0);
  for (const page of [careful, behindHonestEdge]) {
    await expect.poll(() => framesShown(page)).toBeGreaterThan(20);
    await expect.poll(() => page.evaluate(() => media.wholeGroups!)).toBeGreaterThan(0);
    expect(await differing(page, publisher)).toEqual([]);
  }
  const seen = await hashes(careful);
  expect(
    Object.values(await forgeries())
      .flat()
      .filter((frame) => frame in seen),
  ).toEqual([]);
  expect(
    digitPixels(await careful.locator('canvas').screenshot({ path: info.outputPath('verified.png') })),
  ).toBeGreaterThan(300);
  const honest = { forged: 0, unsigned: 0, missing: 0, refusedStatements: 0 };
  expect(await countsOf(behindHonestEdge)).toMatchObject(honest);
});
