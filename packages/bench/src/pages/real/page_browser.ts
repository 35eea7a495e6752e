import { UserError } from '@sheaf/gateway';

export const BROWSER_NAMES = ['chromium', 'firefox'] as const;
export type BrowserName = (typeof BROWSER_NAMES)[number];

const PATIENCE_MS = 120_000;
const VIEWPORT = { width: 1280, height: 900 };

/** A browser that loads pages, of whichever vendor */
export interface PageBrowser {
  /** Name and version, for people */
  version: string;
  /** Opens a tab in a new context, which shares neither storage nor connections with other tabs. */
  open(): Promise<Tab>;
  close(): Promise<void>;
}

/** A tab. Waits end with an error after two minutes. */
export interface Tab {
  /** Goes to a URL and waits for the load event. */
  go(url: string): Promise<void>;
  /** Waits until the document at a URL, to which another one leads, is loaded. */
  arrive(url: string): Promise<void>;
  /** Evaluates an expression in the document, and awaits a promise, however long it takes. The value must be JSON. */
  evaluate<Value>(expression: string): Promise<Value>;
  /** Closes the tab with its context and connections. */
  close(): Promise<void>;
}

/**
 * Starts a browser without a window. Ctrl-C does not end it. @throws UserError when it is not installed
 */
export async function startBrowser(name: BrowserName): Promise<PageBrowser> {
  try {
    return await STARTS[name]();
  } catch (error) {
    throw new UserError('BENCH_UNAVAILABLE', error instanceof Error ? error.message : String(error));
  }
}

/** Starts Chromium, driven by Playwright, which is loaded on demand. */
async function startChromium(): Promise<PageBrowser> {
  const { launchChromium } = await import('../../browser/chromium.js');
  const browser = await launchChromium([], { staysOnInterrupt: true });
  return {
    version: `Chromium ${browser.version()}`,
    async open() {
      const context = await browser.newContext({ viewport: VIEWPORT });
      context.setDefaultTimeout(PATIENCE_MS);
      const page = await context.newPage();
      return {
        go: async (url) => void (await page.goto(url)),
        arrive: (url) => page.waitForURL(url),
        evaluate: (expression) => page.evaluate(expression),
        close: () => context.close(),
      };
    },
    close: () => browser.close(),
  };
}

/**
 * Starts Firefox, driven by Puppeteer, since Playwright drives only a Firefox of its own. Puppeteer is an optional peer of
 * the package, since pages are measured in the repository alone.
 */
async function startFirefox(): Promise<PageBrowser> {
  const { launchFirefox } = await import('../../browser/firefox.js');
  const { browser, stop } = await launchFirefox({ staysOnInterrupt: true });
  return {
    version: (await browser.version()).replace(/^firefox\//i, 'Firefox '),
    async open() {
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      await page.setViewport(VIEWPORT);
      return {
        go: async (url) => void (await page.goto(url)),
        arrive: async (url) =>
          void (await page.waitForFunction(
            `location.href === ${JSON.stringify(url)} && document.readyState === 'complete'`,
          )),
        evaluate: async <Value>(expression: string) => (await page.evaluate(expression)) as Value,
        close: () => context.close(),
      };
    },
    close: stop,
  };
}

const STARTS: Record<BrowserName, () => Promise<PageBrowser>> = { chromium: startChromium, firefox: startFirefox };
