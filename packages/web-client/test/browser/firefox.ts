import { existsSync } from 'node:fs';
import { launch, type Browser } from 'puppeteer-core';

/** The distribution's Firefox. Playwright drives builds of its own alone: it sends commands that this one does not know. */
const executablePath = '/usr/bin/firefox-esr';

/** Time in milliseconds for the start and for each command */
const patience = 110_000;

/** Says why there is no Firefox. Undefined where there is one. */
export const missingFirefox = (): string | undefined =>
  existsSync(executablePath) ? undefined : `${executablePath} is missing; run \`apt-get install firefox-esr\``;

/** Starts Firefox without a window, and without traffic of its own. */
export const launchFirefox = (): Promise<Browser> =>
  launch({
    browser: 'firefox',
    executablePath,
    headless: true,
    timeout: patience,
    protocolTimeout: patience,
    extraPrefsFirefox: {
      'network.captive-portal-service.enabled': false,
      'network.connectivity-service.enabled': false,
      'services.settings.server': 'data:,#remote-settings-dummy/v1',
    },
  });
