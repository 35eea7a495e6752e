import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { loadPage, type PageLoad } from './load_page.js';
import { transportsTo, type BrowserTarget, type Transport } from './transports.js';

export interface BrowserDemoTarget extends BrowserTarget {
  /** Receives progress messages. */
  readonly progress?: Writable;
  /** Directory for screenshots; default: `.sheaf/demo` in the working directory */
  readonly screenshots?: string;
}

export interface BrowserDemoReport {
  /** Whether every transport carried every resource, and both transfers arrived intact */
  readonly ok: boolean;
  readonly transports: readonly (PageLoad | FailedLoad)[];
  /** Screenshot of the page over WebTransport */
  readonly screenshot: string;
}

/** A page that did not load at all */
export interface FailedLoad {
  readonly transport: Transport['name'];
  readonly ok: false;
  readonly problems: readonly string[];
}

/**
 * Loads the demo page in Chromium over WebTransport (by the page loader), over HTTP/3 and over TCP, each in a browser
 * of its own. Failures are part of the report. @throws Error without Chromium
 */
export async function runBrowserDemo(target: BrowserDemoTarget): Promise<BrowserDemoReport> {
  const directory = resolve(target.screenshots ?? join('.sheaf', 'demo'));
  await mkdir(directory, { recursive: true });
  const transports: (PageLoad | FailedLoad)[] = [];
  for (const transport of transportsTo(target)) {
    target.progress?.write(`loading the demo page over ${transport.name}\n`);
    transports.push(await load(transport, join(directory, `${transport.name}.png`)));
  }
  const downloads = new Set(transports.map((one) => 'download' in one && one.download?.sha256));
  return {
    ok: transports.every(({ ok }) => ok) && downloads.size === 1,
    transports,
    screenshot: join(directory, 'webtransport.png'),
  };
}

async function load(transport: Transport, screenshot: string): Promise<PageLoad | FailedLoad> {
  try {
    return await loadPage(transport, screenshot);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { transport: transport.name, ok: false, problems: [problem] };
  }
}
