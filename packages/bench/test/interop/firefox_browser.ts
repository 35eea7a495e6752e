import { execFileSync } from 'node:child_process';
import { launchFirefox, type Firefox } from '../../src/browser/firefox.js';

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

function trust(authority: string, database: string): void {
  execFileSync('certutil', ['-N', '-d', database, '--empty-password']);
  execFileSync('certutil', ['-A', '-d', database, '-n', 'Sheaf test authority', '-t', 'C,,', '-i', authority]);
}
