import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { launchChromium } from '../../../src/browser/chromium.js';
import { browserPeer, call, type StartBrowser } from './browser.js';

/** Chromium refuses HTTP/3 with an authority of one's own; it takes the certificate by its public key. */
const start: StartBrowser = async ({ certificates }, port) => {
  const certificate = new X509Certificate(readFileSync(certificates.certificate));
  const key = createHash('sha256')
    .update(certificate.publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64');
  const browser = await launchChromium([
    `--ignore-certificate-errors-spki-list=${key}`,
    `--origin-to-force-quic-on=localhost:${port}`,
    '--host-resolver-rules=MAP localhost 127.0.0.1',
  ]);
  return {
    async open(url) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(url);
      return { run: (work, ...given) => page.evaluate(call(work, given)), close: () => context.close() };
    },
    stop: () => browser.close(),
  };
};

export const chromium = browserPeer('chromium', 'Chromium', start);
