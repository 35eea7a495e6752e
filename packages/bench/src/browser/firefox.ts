import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, type Browser } from 'puppeteer-core';

/** Executable of Debian's package, since Puppeteer's own downloads are not used */
const EXECUTABLE = '/usr/bin/firefox-esr';
/** Time in milliseconds for the start and for each command of WebDriver BiDi */
const PATIENCE_MS = 110_000;

// Switches off all traffic except the page's, so that nothing else is measured.
const QUIET = {
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'network.dns.disableIPv6': true,
  'services.settings.server': 'data:,#remote-settings-dummy/v1',
};

export interface Firefox {
  browser: Browser;
  /** Ends Firefox and removes its profile, once, however often it is called. */
  stop(): Promise<void>;
}

export interface FirefoxOptions {
  /** Preferences beside those that keep Firefox quiet, by name */
  preferences?: Readonly<Record<string, unknown>>;
  /** Changes the profile, given its folder, before Firefox starts. */
  prepare?: (profile: string) => void;
  /** Whether the browser survives Ctrl-C */
  staysOnInterrupt?: boolean;
}

/**
 * Starts the distribution's Firefox without a window, with a new profile. @throws Error when it is not installed
 */
export async function launchFirefox({
  preferences = {},
  prepare = () => undefined,
  staysOnInterrupt = false,
}: FirefoxOptions = {}): Promise<Firefox> {
  if (!existsSync(EXECUTABLE)) throw new Error(`${EXECUTABLE} is missing; run \`apt-get install firefox-esr\``);
  const profile = mkdtempSync(join(tmpdir(), 'sheaf-firefox-'));
  const remove = (): void => rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  try {
    prepare(profile);
    const browser = await launch({
      browser: 'firefox',
      executablePath: EXECUTABLE,
      headless: true,
      handleSIGINT: !staysOnInterrupt,
      userDataDir: profile,
      timeout: PATIENCE_MS,
      protocolTimeout: PATIENCE_MS,
      extraPrefsFirefox: { ...QUIET, ...preferences },
    });
    let stopped: Promise<void> | undefined;
    return { browser, stop: () => (stopped ??= browser.close().then(remove)) };
  } catch (error) {
    remove();
    throw error;
  }
}
