import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free_port.js';
import { expect, test as base } from './fixtures.js';
import { publicKeyHash } from './gateway.js';
import { LinkedNodes } from './linked_nodes.js';

const large = randomBytes(1_200_000);

const page = `<!doctype html>
<title>the page</title>
<output></output>
<script>
  const download = async () => {
    const bytes = await (await fetch('/large.bin')).arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    document.querySelector('output').textContent = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  };
</script>
`;

/** A gateway with a site behind it, and a node that leads a browser there */
interface Tunnel extends LinkedNodes {
  siteUrl: string;
  socksPort: number;
  httpProxyPort: number;
}

const test = base.extend<{ tunnel: Tunnel }>({
  tunnel: async ({}, use) => {
    const site = await mkdtemp(join(tmpdir(), 'sheaf-tunnel-site-'));
    await writeFile(join(site, 'index.html'), page);
    await writeFile(join(site, 'large.bin'), large);
    const [sitePort, socksPort, httpProxyPort] = [await freePort(), await freePort(), await freePort()];
    const linked = await LinkedNodes.start({
      routes: ['{ connect: { allow: 127.0.0.1, clients: 127.0.0.1 } }', `{ files: ${JSON.stringify(site)} }`],
      gateway: [`http: 127.0.0.1:${sitePort}`, 'path_scheduler: round-robin'],
      node: ['role: tunnel', `socks5: 127.0.0.1:${socksPort}`, `http_proxy: 127.0.0.1:${httpProxyPort}`],
    });
    await use(Object.assign(linked, { siteUrl: `http://127.0.0.1:${sitePort}`, socksPort, httpProxyPort }));
    await linked.remove();
    await rm(site, { recursive: true, force: true });
  },
});

// Chromium would go to this machine without the proxy.
const everywhere = '--proxy-bypass-list=<-loopback>';

test('Chromium loads an https page through the HTTP proxy, and one through SOCKS5 while a path is cut', async ({
  tunnel,
  launchBrowser,
}) => {
  const secure = await launchBrowser(
    `--proxy-server=http://127.0.0.1:${tunnel.httpProxyPort}`,
    everywhere,
    `--ignore-certificate-errors-spki-list=${await publicKeyHash(tunnel.directory)}`,
  );
  const first = await secure.newPage();
  await first.goto(`https://127.0.0.1:${tunnel.gatewayPort}`);
  await expect(first).toHaveTitle('the page');

  const browser = await launchBrowser(`--proxy-server=socks5://127.0.0.1:${tunnel.socksPort}`, everywhere);
  const opened = await browser.newPage();
  await opened.goto(tunnel.siteUrl);
  await expect(opened).toHaveTitle('the page');
  await expect.poll(async () => (await tunnel.received()).length).toBe(2);
  const before = await tunnel.received();
  await opened.evaluate('void download()');
  // Both paths carry the download when one of them goes dark.
  await expect
    .poll(async () => Math.min(...(await tunnel.received()).map((bytes, path) => bytes - before[path]!)), {
      intervals: [20],
    })
    .toBeGreaterThan(200_000);
  tunnel.links[0]!.freeze();
  expect(await opened.textContent('output')).toBe('');
  await expect(opened.locator('output')).toHaveText(createHash('sha256').update(large).digest('hex'));
  expect((await tunnel.status()).gateway.opened).toBe(1);
});
