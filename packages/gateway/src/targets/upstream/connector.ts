import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { buildConnector } from 'undici';
import type { UpstreamOptions } from '../../schema/upstream.js';
import { readPieces } from './read_pieces.js';
import type { SecretsSource } from './secrets.js';

/** How connections to one upstream are opened, those of requests and those of checks. */
export interface UpstreamConnector {
  /** What the upstream is verified by. It is the same for every request: undici closes a connection when it changes. */
  readonly name: string;
  /** undici's `connect`. */
  readonly connect: buildConnector.connector;
}

export function createConnector({ hostname }: URL, options: UpstreamOptions, source: SecretsSource): UpstreamConnector {
  const name = options.tls?.name ?? hostname.replace(/^\[|\]$/g, '');
  // RFC 6066 §3: an IP address is not asked for.
  const servername = isIP(name) === 0 ? name : '';
  const build = (): buildConnector.connector =>
    buildConnector({
      timeout: options.connect_timeout,
      ...secrets,
      ...readPieces(),
      // undici would take the name from the `Host` that the client chose.
      checkServerIdentity: (_asked, certificate) => checkServerIdentity(name, certificate),
    });
  let secrets = source.current;
  let connect = build();
  return {
    name,
    connect: (target, done) => {
      if (secrets !== source.current) {
        secrets = source.current;
        // Another one: it would resume sessions of the old authorities and certificates.
        connect = build();
      }
      return connect({ ...target, host: name, servername }, done);
    },
  };
}
