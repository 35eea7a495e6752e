// `npm run picture`: takes docs/pictures/servers.png, the picture of the README, from a running demo with one killed
// backend.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from '@playwright/test';
import { root } from './setup/stamp.mjs';

const require = createRequire(join(root, 'packages', 'web-client', 'package.json'));
const { PNG } = require('pngjs');

const TARGET = join(root, 'docs', 'pictures', 'servers.png');
/** Step to which colors are rounded. Flat areas then compress well, without a visible difference. */
const STEP = 4;
/** Device pixels for one CSS pixel: the width at which a README is shown */
const SCALE = 0.8;
/** Generous waiting time: no duration decides what is in the picture. */
const PATIENCE = { timeout: 120_000 };

/** Starts the demo. Returns the process and the address of its page. */
async function startDemo() {
  const command = join(root, 'packages', 'cli', 'bin', 'sheaf.js');
  const demo = spawn(process.execPath, [command, 'demo', '--site', 'multi-end', '--port', '0', '--http-port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: demo.stdout })) {
    const [, url] = /open (\S+) in a browser/.exec(line) ?? [];
    if (url) return { demo, url };
  }
  throw new Error('the demo ended before it was ready');
}

/** Takes the page up to its figures, while the other servers send what a killed backend would have sent. */
async function photograph(url) {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  try {
    const page = await browser.newPage({
      viewport: { width: 1280, height: 1200 },
      deviceScaleFactor: SCALE,
      colorScheme: 'light',
    });
    await page.goto(url);
    const pieces = (count) =>
      page.waitForFunction(
        (least) => Number(document.querySelector('#verified').textContent) >= least,
        count,
        PATIENCE,
      );
    await pieces(100);
    await page.getByRole('button', { name: 'Kill the process of backend2' }).click();
    await page.getByText('The gateway sees backend2 as lost.').waitFor(PATIENCE);
    await page.mouse.move(0, 0);
    await pieces(Number(await page.textContent('#verified')) + 70);
    const { y, height } = await page.locator('.figures').boundingBox();
    return await page.screenshot({ clip: { x: 0, y: 0, width: 1280, height: Math.round(y + height + 28) } });
  } finally {
    await browser.close();
  }
}

function simplify(bytes) {
  const image = PNG.sync.read(bytes);
  for (let at = 0; at < image.data.length; at += 1) {
    if (at % 4 !== 3) image.data[at] = Math.min(255, Math.round(image.data[at] / STEP) * STEP);
  }
  return PNG.sync.write(image, { colorType: 2, inputHasAlpha: true, deflateLevel: 9 });
}

const { demo, url } = await startDemo();
try {
  const picture = simplify(await photograph(url));
  await writeFile(TARGET, picture);
  console.log(`${TARGET}: ${Math.round(picture.length / 1024)} KB`);
} finally {
  const ended = once(demo, 'exit');
  demo.kill('SIGTERM');
  await ended;
}
