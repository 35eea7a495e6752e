import { noServer } from '../matrix.js';
import type { ConnectionReport, DownloadOptions, Peer } from '../peer.js';
import { startRelay, type Relay } from '../relay.js';
import type { Site } from '../site.js';
import { downloadInPage, exerciseInPage, textInPage, textOfPage } from './page.js';

/** A page of the site in a browser, over HTTP/3. Its profile is its own: it shares no connection with other pages. */
export interface BrowserPage {
  /** Runs a function in the page; what it takes and returns is JSON. */
  run<Arguments extends unknown[], Result>(
    work: (...given: Arguments) => Promise<Result>,
    ...given: Arguments
  ): Promise<Result>;
  close(): Promise<void>;
}

export interface Browser {
  open(url: string): Promise<BrowserPage>;
  stop(): Promise<void>;
}

/** Starts a browser that uses HTTP/3, and nothing else, for localhost at a port. */
export type StartBrowser = (site: Pick<Site, 'certificates'>, port: number) => Promise<Browser>;

/** The text of an expression that calls the function in a page. */
export const call = (work: (...given: never[]) => unknown, given: readonly unknown[]): string =>
  `(${String(work)})(...${JSON.stringify(given)})`;

/** A browser as a client. It is started once, when the first check needs it. */
export function browserPeer(slug: string, name: string, start: StartBrowser): Peer {
  let started: Promise<Pages> | undefined;
  const withPage: WithPage = async (site, port, use, path) => {
    started ??= startPages(site, start);
    return (await started).withPage(site, port, use, path);
  };
  return {
    slug,
    name,
    protocol: 'h3',
    exerciseSessions: (site) => withPage(site, site.port, (page, authority) => page.run(exerciseInPage, authority)),
    async download({ site, port, paths, connections = 1, resume }) {
      if (resume) {
        let reports: ConnectionReport[] = [];
        for (let profile = 0; profile < profiles && !allResumed(reports, connections); profile += 1)
          reports = await withPage(
            site,
            resume.idlePort,
            (page) => resumedDownloads(page, { idle: resume, paths, connections }),
            '/early',
          );
        return reports;
      }
      const reports: ConnectionReport[] = [];
      while (reports.length < connections) reports.push(await withPage(site, port, (page) => downloads(page, paths)));
      return reports;
    },
    stop: async () => (await started)?.stop(),
    cannot: {
      keyUpdate: 'pages cannot ask for a key update',
      migration: 'pages cannot ask for another port',
      ...noServer('browsers are no servers'),
    },
  };
}

/** Opens the page `path` (default: /) at the UDP port of a gateway, or of a relay before it. */
type WithPage = <Result>(
  site: Pick<Site, 'certificates'>,
  port: number,
  use: (page: BrowserPage, authority: string) => Promise<Result>,
  path?: string,
) => Promise<Result>;

interface Pages {
  withPage: WithPage;
  stop(): Promise<void>;
}

/** Browsers are told once at which port HTTP/3 is. It is that of a relay, which leads to where each page wants to go. */
async function startPages(site: Pick<Site, 'certificates'>, start: StartBrowser): Promise<Pages> {
  let target = 0;
  const front: Relay = await startRelay(() => target);
  const browser = await start(site, front.port);
  const authority = `localhost:${front.port}`;
  return {
    async withPage(_, port, use, path = '/') {
      // The port of a client that is gone may come again.
      front.rebind();
      target = port;
      const page = await browser.open(`https://${authority}${path}`);
      try {
        return await use(page, authority);
      } finally {
        await page.close();
      }
    },
    async stop() {
      await browser.stop();
      front.close();
    },
  };
}

async function downloads(page: BrowserPage, paths: readonly string[]): Promise<ConnectionReport> {
  const whole = await page.run(downloadInPage, [...paths]);
  for (const { path, protocol } of whole) {
    if (protocol !== 'h3') throw new Error(`${path} came over ${protocol ?? 'something unknown'}`);
  }
  return { downloads: whole };
}

/**
 * Profiles that a browser gets. Once one of its connections broke, as when it used one that the gateway had just closed
 * for silence, it waits with all requests of the profile until handshakes are confirmed.
 */
const profiles = 3;

const allResumed = ([, ...others]: readonly ConnectionReport[], connections: number): boolean =>
  others.length === connections - 1 && others.every(({ early }) => early);

/** A browser may be done with the handshake before it gets to the request: then there was no 0-RTT to accept. */
const attempts = 15;

/** Connections end by silence, and the next request makes another one. That it came in 0-RTT shows that the ticket was used, too. */
async function resumedDownloads(
  page: BrowserPage,
  {
    idle,
    paths,
    connections,
  }: { idle: Pick<Site, 'untilIdle'> } & Required<Pick<DownloadOptions, 'paths' | 'connections'>>,
): Promise<ConnectionReport[]> {
  const comesEarly = async (): Promise<boolean> => (await page.run(textInPage, '/early')) === 'early';
  // The page itself is what the first connection of the profile brought.
  const first = (await page.run(textOfPage)) === 'early';
  const reports: ConnectionReport[] = [{ ...(await downloads(page, paths)), early: first, resumed: first }];
  while (reports.length < connections) {
    let early = false;
    for (let attempt = 0; attempt < attempts && !early; attempt += 1) {
      await idle.untilIdle();
      early = await comesEarly();
    }
    reports.push({ ...(await downloads(page, paths)), early, resumed: early });
    if (!early) break;
  }
  return reports;
}
