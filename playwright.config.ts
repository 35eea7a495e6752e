import { defineConfig } from '@playwright/test';

// Chromium refuses to run as root with its sandbox.
const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];

export default defineConfig({
  testDir: 'packages/web-client/test/browser',
  outputDir: '.sheaf/test/browser',
  // Each worker has its own gateway; timing never fails a test, so waiting is generous.
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  forbidOnly: true,
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
    trace: 'retain-on-failure',
  },
});
