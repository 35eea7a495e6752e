import { defineConfig } from '@playwright/test';

// Chromium refuses to run as root with its sandbox.
const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];

export default defineConfig({
  testDir: 'packages/web-client/test/browser',
  outputDir: '.sheaf/test/browser',
  // Each worker has its own gateway. One of them waits for links and charts most of the time, so the other has a core.
  // Timing never fails a test, so waiting is generous.
  workers: 2,
  timeout: 300_000,
  expect: { timeout: 60_000 },
  forbidOnly: true,
  // The summary names what passed only the second time.
  retries: 1,
  use: {
    // The distribution's Chromium; Playwright's own downloads are not used.
    launchOptions: {
      executablePath: '/usr/bin/chromium',
      args: [
        ...sandbox,
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
    viewport: { width: 1280, height: 900 },
    // To record one takes as long as many a page.
    trace: 'on-first-retry',
  },
});
