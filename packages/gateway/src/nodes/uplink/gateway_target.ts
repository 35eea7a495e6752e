import type { ClientOptions } from '@sheaf/native';
import type { LoadedGateway, LoadedUplink } from '../../schema/loaded.js';
import { readSmallFile } from '../../values/regular_file.js';
import { isWildcard, type ListenAddress } from '../../values/scalars.js';
import { UserError } from '../../errors/user_error.js';
import { certificateHash, readCertificateFiles } from '../../tls/certificate_files.js';
import { loadDevCertificate } from '../../tls/dev_certificate.js';
import type { TrustOptions } from '../../schema/uplink.js';

type Trust = Pick<ClientOptions, 'insecure' | 'certificateAuthority' | 'certificateHashes'>;

/** Address of a node's gateway, and how the node authenticates it */
export interface GatewayTarget {
  host: string;
  port: number;
  serverName?: string;
  /** Reads the trusted certificates. It is called for every connection, since certificates are replaced. */
  trust(): Promise<Trust>;
}

/**
 * Returns the target of a node's connection. `running` is the address of the gateway if this process runs it as well.
 * @throws UserError when the gateway's port is unknown
 */
export function gatewayTarget({ node, gateway, place }: LoadedUplink, running?: ListenAddress): GatewayTarget {
  if (typeof node.gateway !== 'string') {
    const { address, server_name: serverName, certificate } = node.gateway;
    return {
      ...address,
      ...(serverName === undefined ? {} : { serverName }),
      trust: () => configuredTrust(certificate),
    };
  }
  if (!gateway) throw new Error(`the gateway ${node.gateway} got lost`);
  const { address, port } = running ?? gateway.node.listen;
  if (port === 0) {
    throw new UserError('CONFIG_CONFLICT', `the port of the gateway \`${gateway.name}\` is not known`, {
      place: place(['gateway']),
      hint: 'give its `listen` a port, or run both nodes in one process',
    });
  }
  const host = isWildcard(address) ? '127.0.0.1' : address;
  return { host, port, trust: () => trustIn(gateway) };
}

async function configuredTrust(certificate: TrustOptions | undefined): Promise<Trust> {
  if (certificate === undefined) return {};
  if (certificate === 'insecure') return { insecure: true };
  if (certificate.hash !== undefined) return { certificateHashes: certificate.hash };
  return { certificateAuthority: await readSmallFile(certificate.ca ?? '') };
}

/** Trusts the certificate of a gateway in the same file. */
async function trustIn({ node: { tls }, directory, certificateNames }: LoadedGateway): Promise<Trust> {
  const pair =
    tls === 'dev' ? await loadDevCertificate(directory, certificateNames, new Date()) : await readCertificateFiles(tls);
  return { certificateHashes: [certificateHash(pair)] };
}
