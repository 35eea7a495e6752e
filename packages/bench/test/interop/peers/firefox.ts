import { launchHttp3Firefox } from '../firefox_browser.js';
import { browserPeer, call, type StartBrowser } from './browser.js';

const start: StartBrowser = async ({ certificates }, port) => {
  const { browser, stop } = await launchHttp3Firefox({ authority: certificates.authority, http3Port: port });
  return {
    async open(url) {
      const context = await browser.createBrowserContext();
      const page = await context.newPage();
      await page.goto(url);
      return { run: (work, ...given) => page.evaluate(call(work, given)) as never, close: () => context.close() };
    },
    stop,
  };
};

export const firefox = browserPeer('firefox', 'Firefox', start);
