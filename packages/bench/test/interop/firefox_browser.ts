import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, type Browser } from 'puppeteer-core';

/** Debian's package. */
const executablePath = '/usr/bin/firefox-esr';
const patienceMs = 110_000;

/** Nothing goes over the network but what pages ask for. */
const quiet = {
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'network.dns.disableIPv6': true,
  'services.settings.server': 'data:,#remote-settings-dummy/v1',
};

/** TCP is not tried beside HTTP/3, however slow the machine is. */
const patient = {
  'network.http.http3.backup_timer_delay': 100_000,
  'network.http.http3.parallel_fallback_conn_limit': 0,
  'network.http.http3.fallback_to_h2_on_error': false,
};

/** HTTP/3 where an authority of one's own vouches for the server, from the first request to localhost on. */
const http3Alone = (port: number): Record<string, unknown> => ({
  'network.http.http3.disable_when_third_party_roots_found': false,
  'network.http.http3.alt-svc-mapping-for-testing': `localhost;h3=:${port}`,
  'network.http.http3.force-use-alt-svc-mapping-for-testing': true,
});

export interface Firefox {
  browser: Browser;
  /** Once, however often it is called. */
  stop(): Promise<void>;
}

export interface FirefoxOptions {
  /** PEM file: it is trusted as if a user had imported it. */
  authority?: string;
  /** UDP port to which HTTP/3 for localhost goes, whatever the URL's port is. */
  http3Port?: number;
}

function trust(authority: string, database: string): void {
  execFileSync('certutil', ['-N', '-d', database, '--empty-password']);
  execFileSync('certutil', ['-A', '-d', database, '-n', 'Sheaf test authority', '-t', 'C,,', '-i', authority]);
}

/** Starts the distribution's Firefox without a window, with a profile of its own. @throws Error when it is not installed. */
export async function launchFirefox({ authority, http3Port }: FirefoxOptions = {}): Promise<Firefox> {
  if (!existsSync(executablePath)) throw new Error(`${executablePath} is missing; run \`npm run setup\``);
  const profile = mkdtempSync(join(tmpdir(), 'sheaf-firefox-'));
  const remove = (): void => rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  try {
    if (authority !== undefined) trust(authority, `sql:${profile}`);
    const browser = await launch({
      browser: 'firefox',
      executablePath,
      headless: true,
      userDataDir: profile,
      timeout: patienceMs,
      protocolTimeout: patienceMs,
      extraPrefsFirefox: { ...quiet, ...patient, ...(http3Port === undefined ? {} : http3Alone(http3Port)) },
    });
    let stopped: Promise<void> | undefined;
    return { browser, stop: () => (stopped ??= browser.close().then(remove)) };
  } catch (error) {
    remove();
    throw error;
  }
}
