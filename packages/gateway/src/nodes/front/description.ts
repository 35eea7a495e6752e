import { isWildcard, type ListenAddresses } from '../../values/scalars.js';
import type { Exchange } from '../../http/exchange.js';
import type { GatewayDescription } from '@sheaf/web-client/protocol';
import { formatAddress } from '../../values/listen_error.js';
import { hostName } from '../../http/router.js';
import type { CertificateSource } from '../../tls/certificate_source.js';
import type { PublicAddress } from '../../schema/reach.js';

/** Address that a node listens on, and the address where clients find it if that differs */
export interface Reach {
  listen: ListenAddresses;
  public_url?: PublicAddress | undefined;
}

/** Describes how the requesting browser reaches the QUIC listener. */
export function describeListener(
  { listen, public_url: url }: Reach,
  certificateInUse: () => CertificateSource,
  quicPort: () => number,
): (exchange: Exchange) => GatewayDescription {
  return ({ request }) => {
    const certificate = certificateInUse();
    // Browsers try only one address of `localhost` for QUIC, so name the one that is listened on. A public certificate
    // contains names, so there the name that the page uses is kept.
    const named = certificate.isDevelopment && !isWildcard(listen.address) && listen.further === undefined;
    const port = url?.port ?? quicPort();
    const here = url ? `${url.host}:${port}` : formatAddress({ address: listen.address, port });
    return {
      hashes: certificate.isDevelopment ? [certificate.hash] : [],
      authority: named ? here : `${hostName(request.authority)}:${port}`,
    };
  };
}
