import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launchFirefox, type Firefox } from '../../src/browser/firefox.js';

/** TCP is not tried beside HTTP/3, however slow the machine is. */
const patient = {
  'network.http.http3.backup_timer_delay': 100_000,
  'network.http.http3.parallel_fallback_conn_limit': 0,
  'network.http.http3.fallback_to_h2_on_error': false,
};

/** HTTP/3 where an authority of one's own vouches for the server, from the first request to its host on. */
const http3Alone = (port: number, host = 'localhost'): Record<string, unknown> => ({
  'network.http.http3.disable_when_third_party_roots_found': false,
  'network.http.http3.alt-svc-mapping-for-testing': `${host};h3=:${port}`,
  'network.http.http3.force-use-alt-svc-mapping-for-testing': true,
});

export interface Http3FirefoxOptions {
  /** PEM file: it is trusted as if a user had imported it. */
  authority: string;
  /** UDP port to which HTTP/3 for localhost goes, whatever the URL's port is. */
  http3Port: number;
}

/** Starts Firefox as a client of a server by HTTP/3 alone. @throws Error when it is not installed. */
export const launchHttp3Firefox = ({ authority, http3Port }: Http3FirefoxOptions): Promise<Firefox> =>
  launchFirefox({
    preferences: { ...patient, ...http3Alone(http3Port) },
    prepare: (profile) => trust(authority, `sql:${profile}`),
  });

export interface ProxiedFirefoxOptions extends Http3FirefoxOptions {
  /** Address of the server that requests are for */
  host: string;
  /** Port of the proxy on localhost */
  proxyPort: number;
  /** Value of Proxy-Authorization */
  credentials: string;
  /** Folder for the extension that names the proxy */
  extension: string;
}

/** What a WebExtension may name in `proxy.onRequest`, where no setting of Firefox names such a proxy */
const proxyExtension = ({ proxyPort, credentials }: ProxiedFirefoxOptions) => ({
  'manifest.json': JSON.stringify({
    manifest_version: 2,
    name: 'masque',
    version: '1',
    permissions: ['proxy', '<all_urls>'],
    background: { scripts: ['background.js'] },
    browser_specific_settings: { gecko: { id: 'masque@sheaf.test', strict_min_version: '140.0' } },
  }),
  'background.js': `browser.proxy.onRequest.addListener(() => (${JSON.stringify({
    type: 'masque',
    host: 'localhost',
    port: proxyPort,
    masqueTemplate: '/.well-known/masque/udp/{target_host}/{target_port}/',
    proxyAuthorizationHeader: credentials,
    connectionIsolationKey: 'masque',
  })}), { urls: ['<all_urls>'] });`,
});

/** Starts Firefox with a proxy for UDP, by which it sends all requests. @throws Error when it is not installed */
export async function launchProxiedFirefox(options: ProxiedFirefoxOptions): Promise<Firefox> {
  const { authority, http3Port, host, extension } = options;
  for (const [name, text] of Object.entries(proxyExtension(options))) writeFileSync(join(extension, name), text);
  const firefox = await launchFirefox({
    preferences: {
      ...patient,
      ...http3Alone(http3Port, host),
      'network.proxy.allow_hijacking_localhost': true,
    },
    prepare: (profile) => trust(authority, `sql:${profile}`),
  });
  await firefox.browser.installExtension(extension);
  return firefox;
}

function trust(authority: string, database: string): void {
  execFileSync('certutil', ['-N', '-d', database, '--empty-password']);
  execFileSync('certutil', ['-A', '-d', database, '-n', 'Sheaf test authority', '-t', 'C,,', '-i', authority]);
}
