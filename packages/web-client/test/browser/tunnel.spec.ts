import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free_port.js';
import { expect, test as base } from './fixtures.js';
import { LinkedNodes } from './linked_nodes.js';
import { expectGoodLooks, inEachLook } from './looks.js';

const large = randomBytes(1_200_000);

const sitePage = `<!doctype html>
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
    await writeFile(join(site, 'index.html'), sitePage);
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
const everywhere = '<-loopback>';

test('Chromium loads an https page through the HTTP proxy, and one through SOCKS5 while a path is cut', async ({
  tunnel,
  launchBrowser,
  browser,
  page: charts,
}, testInfo) => {
  const errors: Error[] = [];
  charts.on('pageerror', (error) => errors.push(error));
  await charts.goto(`${tunnel.adminUrl}/tunnels/`);
  const secure = await browser.newContext({
    proxy: { server: `http://127.0.0.1:${tunnel.httpProxyPort}`, bypass: everywhere },
    ignoreHTTPSErrors: true,
  });
  const first = await secure.newPage();
  await first.goto(`https://127.0.0.1:${tunnel.gatewayPort}`);
  await expect(first).toHaveTitle('the page');
  await secure.close();

  const proxied = await launchBrowser(
    `--proxy-server=socks5://127.0.0.1:${tunnel.socksPort}`,
    `--proxy-bypass-list=${everywhere}`,
  );
  const opened = await proxied.newPage();
  await opened.goto(tunnel.siteUrl);
  await expect(opened).toHaveTitle('the page');
  await expect.poll(async () => (await tunnel.received()).length).toBe(2);
  const before = await tunnel.received();
  await opened.evaluate('void download()');
  // Both paths carry the download when one of them goes dark.
  await tunnel.expectBothToCarry(50_000, before);
  tunnel.links[0]!.freeze();
  expect(await opened.textContent('output')).toBe('');
  await expect(opened.locator('output')).toHaveText(createHash('sha256').update(large).digest('hex'));
  expect((await tunnel.status()).gateway.opened).toBe(1);

  await expect(charts.locator('#state')).toHaveText('serving');
  await expect(charts.locator('#paths tr')).toHaveCount(2);
  await expect(charts.locator('#paths tr').first().locator('td[data-label="State"]')).toHaveText(
    /silent|abandoned|gone/,
  );
  await expect(charts.locator('#to-client-detail')).toHaveText(/^1\.\d\d MB so far$/);
  for (const chart of ['#rate-chart', '#waiting-chart', '#round-trip-chart']) {
    const drawn = async (): Promise<string> => (await charts.locator(`${chart} .line`).first().getAttribute('d')) ?? '';
    await expect.poll(async () => (await drawn()).split('L').length).toBeGreaterThan(3);
  }
  await inEachLook(charts, '', async (name) => {
    await charts.screenshot({ path: testInfo.outputPath(`tunnels-${name}.png`), fullPage: true });
    await expectGoodLooks(charts);
  });
  expect(errors).toEqual([]);
});
