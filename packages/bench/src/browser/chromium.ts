import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

/** Executable of Debian's package, since Playwright's own downloads are not used */
const EXECUTABLE = '/usr/bin/chromium';

// Switches off all traffic except the page's, so that nothing else is measured.
const QUIET = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

export interface LaunchOptions {
  /** Whether the browser survives Ctrl-C */
  staysOnInterrupt?: boolean;
}

/** Starts the distribution's Chromium without a window. @throws Error when it is not installed */
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

// Switches the sandbox off for root, with which Chromium refuses to run.
function sandbox(): string[] {
  return process.getuid?.() === 0 ? ['--no-sandbox'] : [];
}
