import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

/** Debian's package; Playwright's own downloads are not used. */
const EXECUTABLE = '/usr/bin/chromium';

// No traffic but the page's: measurements should be alone.
const QUIET = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

export interface LaunchOptions {
  /** Default: the browser ends with Ctrl-C. */
  staysOnInterrupt?: boolean;
}

/** Starts the distribution's Chromium without a window. @throws Error when it is not installed. */
export async function launchChromium(
  switches: readonly string[] = [],
  { staysOnInterrupt = false }: LaunchOptions = {},
): Promise<Browser> {
  if (!existsSync(EXECUTABLE)) {
    throw new Error(`${EXECUTABLE} is missing; run \`apt-get install chromium\``);
  }
  return chromium.launch({
    executablePath: EXECUTABLE,
    headless: true,
    handleSIGINT: !staysOnInterrupt,
    args: [...QUIET, ...sandbox(), ...switches],
  });
}

// Chromium refuses to run as root with its sandbox.
function sandbox(): string[] {
  return process.getuid?.() === 0 ? ['--no-sandbox'] : [];
}
