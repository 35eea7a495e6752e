import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { buildConnector } from 'undici';
import type { UpstreamOptions } from '../../schema/upstream.js';
import { readPieces } from './read_pieces.js';
import type { SecretsSource } from './secrets.js';

/** Opens connections to one upstream, for requests and for checks. */
export interface UpstreamConnector {
  /**
   * Name that the upstream's certificate must have. It is the same for every request, since undici closes a connection
   * when it changes.
   */
  readonly name: string;
  /** `connect` of undici */
  readonly connect: buildConnector.connector;
}

export function createConnector({ hostname }: URL, options: UpstreamOptions, source: SecretsSource): UpstreamConnector {
  const name = options.tls?.name ?? hostname.replace(/^\[|\]$/g, '');
  // RFC 6066 §3: SNI contains no IP addresses.
  const servername = isIP(name) === 0 ? name : '';
  const build = (): buildConnector.connector =>
    buildConnector({
      timeout: options.connect_timeout,
      ...secrets,
      ...readPieces(),
      // Otherwise undici would check the name in `Host`, which the client chooses.
      checkServerIdentity: (_asked, certificate) => checkServerIdentity(name, certificate),
    });
  let secrets = source.current;
  let connect = build();
  return {
    name,
    connect: (target, done) => {
      if (secrets !== source.current) {
        secrets = source.current;
        // Build a new one: the old one would resume sessions with the earlier authorities and certificates.
        connect = build();
      }
      return connect({ ...target, host: name, servername }, done);
    },
  };
}
