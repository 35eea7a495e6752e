import { isIP } from 'node:net';
import { checkServerIdentity, type ConnectionOptions } from 'node:tls';
import { buildConnector } from 'undici';
import { readAuthorityFile, readCertificateFiles } from '../tls/certificate_files.js';
import type { UpstreamOptions, UpstreamTlsOptions } from './options.js';

/** What the files of `tls` hold. */
export type UpstreamSecrets = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>;

/** @throws CertificateError */
export async function readSecrets({ ca, certificate }: UpstreamTlsOptions = {}): Promise<UpstreamSecrets> {
  const pair = certificate && (await readCertificateFiles(certificate));
  return { ...(ca === undefined ? {} : { ca: await readAuthorityFile(ca) }), ...(pair && { cert: pair.certificate, key: pair.privateKey }) };
}

/** How connections to one upstream are opened, those of requests and those of checks. */
export interface UpstreamConnector {
  /** What the upstream is verified by. It is the same for every request: undici closes a connection when it changes. */
  readonly name: string;
  /** undici's `connect`. */
  readonly connect: buildConnector.connector;
}

export function createConnector({ hostname }: URL, options: UpstreamOptions, secrets: UpstreamSecrets): UpstreamConnector {
  const name = options.tls?.name ?? hostname.replace(/^\[|\]$/g, '');
  const connect = buildConnector({
    timeout: options.connect_timeout,
    ...secrets,
    // undici would take the name from the `Host` that the client chose.
    checkServerIdentity: (_asked, certificate) => checkServerIdentity(name, certificate),
  });
  // RFC 6066 §3: an IP address is not asked for.
  const servername = isIP(name) === 0 ? name : '';
  return { name, connect: (target, done) => connect({ ...target, host: name, servername }, done) };
}
