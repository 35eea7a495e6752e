import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Page } from 'playwright-core';
import { launchChromium } from './chromium.js';

export interface LiveDemoTarget {
  /** URL of the page that publishes */
  readonly studioUrl: string;
  /** URL of the page that watches */
  readonly watchUrl: string;
  /** Receives progress messages. */
  readonly progress?: Writable;
  /** Directory for screenshots */
  readonly screenshots: string;
}

/** What happened while the tree was in one state */
export interface LivePhase {
  readonly tree: 'whole' | 'cut' | 'mended';
  /** Frames that were shown */
  readonly shown: number;
  /** Packets at the edge, by what brought them */
  readonly byGroup: number;
  readonly byRepairs: number;
  readonly byCopies: number;
  /** Share of the packets that the group or its repairs brought, 0 to 1 */
  readonly multicastShare: number;
}

export interface LiveDemoReport {
  /** Whether every frame was shown, by copies while the tree was cut and by the group before and after */
  readonly ok: boolean;
  readonly framesShown: number;
  readonly framesLost: number;
  /** Shown later than planned, as on a machine that is busy */
  readonly framesLate: number;
  /** Groups that came whole, and those of them that had as many frames as the publisher wrote */
  readonly groups: { readonly compared: number; readonly equal: number };
  /** Milliseconds from the picture to the page */
  readonly latencyMs: { readonly median: number; readonly highest: number };
  /** Packets that were missing at some time, and for good */
  readonly packetsLost: number;
  readonly packetsExpired: number;
  readonly phases: readonly LivePhase[];
  readonly screenshots: readonly string[];
}

/** Content of `window.watching` and `window.studio` on the pages */
interface Watching {
  frames: { shown: number; lost: number; late: number; groups: [number, number][] };
  edge?: { state: string; fromGroup: number; recovered: number; fromUnicast: number; lost: number; expired: number };
}

const READY_MS = 60_000;
/** Frames that each phase shows at least */
const PHASE_FRAMES = 50;

/**
 * Publishes the clock from one page and watches it in another, while the tree between gateway and edge is whole, cut,
 * and mended. What goes wrong with frames is part of the report. @throws Error when the pages do not get so far
 */
export async function runLiveDemo(target: LiveDemoTarget): Promise<LiveDemoReport> {
  await mkdir(target.screenshots, { recursive: true });
  const browser = await launchChromium();
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
    const [studio, viewer] = [await context.newPage(), await context.newPage()];
    await studio.goto(target.studioUrl);
    await viewer.goto(target.watchUrl);
    return await play(studio, viewer, target);
  } finally {
    await browser.close();
  }
}

async function play(studio: Page, viewer: Page, { progress, screenshots }: LiveDemoTarget): Promise<LiveDemoReport> {
  const phases: LivePhase[] = [];
  const pictures: string[] = [];
  const run = async (tree: LivePhase['tree'], state: string): Promise<void> => {
    progress?.write(`watching while the tree is ${tree}\n`);
    phases.push(await watchPhase(viewer, tree, state));
    const picture = join(screenshots, `live-${tree}.png`);
    await viewer.screenshot({ path: picture, fullPage: true });
    pictures.push(picture);
  };
  await run('whole', 'receiving');
  await viewer.click('#switch');
  await run('cut', 'unicast');
  await viewer.click('#switch');
  await run('mended', 'receiving');
  const { frames, edge } = await watching(viewer);
  const arrivals = await viewer.evaluate<number[]>('watching.arrivals()');
  const groups = compare(frames.groups, await studio.evaluate<[number, number][]>('studio.published().groups'));
  return {
    ok: frames.lost === 0 && groups.compared > 0 && groups.equal === groups.compared && phases.every(isAsExpected),
    framesShown: frames.shown,
    framesLost: frames.lost,
    framesLate: frames.late,
    groups,
    latencyMs: summary(arrivals),
    packetsLost: edge?.lost ?? 0,
    packetsExpired: edge?.expired ?? 0,
    phases,
    screenshots: pictures,
  };
}

const isAsExpected = ({ tree, shown, byGroup, byCopies }: LivePhase): boolean =>
  shown >= PHASE_FRAMES && (tree === 'cut' ? byGroup === 0 && byCopies > 0 : byGroup > 0);

/** Waits until the edge is in the state, and then for frames. */
async function watchPhase(viewer: Page, tree: LivePhase['tree'], state: string): Promise<LivePhase> {
  const wait = (condition: string): Promise<unknown> =>
    viewer.waitForFunction(condition, undefined, { timeout: READY_MS });
  await wait(`watching.edge()?.state === '${state}' && watching.frames().shown > 0`);
  const before = await watching(viewer);
  const until = before.frames.shown + PHASE_FRAMES;
  await wait(`watching.frames().shown >= ${until}`);
  const after = await watching(viewer);
  const count = (name: 'fromGroup' | 'recovered' | 'fromUnicast'): number =>
    (after.edge?.[name] ?? 0) - (before.edge?.[name] ?? 0);
  const [byGroup, byRepairs, byCopies] = [count('fromGroup'), count('recovered'), count('fromUnicast')];
  const shown = after.frames.shown - before.frames.shown;
  const all = byGroup + byRepairs + byCopies;
  return { tree, shown, byGroup, byRepairs, byCopies, multicastShare: all === 0 ? 0 : (byGroup + byRepairs) / all };
}

const watching = (viewer: Page): Promise<Watching> =>
  viewer.evaluate<Watching>('({ frames: watching.frames(), edge: watching.edge() })');

/** Compares the frames of the groups that came with those that were published. */
function compare(received: [number, number][], published: [number, number][]): LiveDemoReport['groups'] {
  const sent = new Map(published);
  return {
    compared: received.length,
    equal: received.filter(([group, frames]) => sent.get(group) === frames).length,
  };
}

function summary(milliseconds: readonly number[]): LiveDemoReport['latencyMs'] {
  const sorted = [...milliseconds].sort((left, right) => left - right);
  const rounded = (value = Number.NaN): number => Math.round(value * 10) / 10;
  return { median: rounded(sorted[Math.floor(sorted.length / 2)]), highest: rounded(sorted.at(-1)) };
}
