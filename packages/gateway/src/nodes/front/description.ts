import { isWildcard, type ListenAddresses } from '../../values/scalars.js';
import type { Exchange } from '../../http/exchange.js';
import type { GatewayDescription } from '@sheaf/web-client/protocol';
import { formatAddress } from '../../values/listen_error.js';
import { hostName } from '../../http/router.js';
import type { CertificateSource } from '../../tls/certificate_source.js';
import type { PublicAddress } from '../../schema/reach.js';

/** Where a node listens, and where clients find it when that is somewhere else. */
export interface Reach {
  listen: ListenAddresses;
  public_url?: PublicAddress | undefined;
}

/** How the browser that asks reaches the QUIC listener. */
export function describeListener(
  { listen, public_url: url }: Reach,
  certificate: CertificateSource,
  quicPort: () => number,
): (exchange: Exchange) => GatewayDescription {
  return ({ request }) => {
    // Browsers try one address of `localhost` for QUIC: name the one that is listened on. A public
    // certificate holds names, so there the page's own name is kept.
    const named = certificate.isDevelopment && !isWildcard(listen.address) && listen.further === undefined;
    const port = url?.port ?? quicPort();
    const here = url ? `${url.host}:${port}` : formatAddress({ address: listen.address, port });
    return {
      hashes: certificate.isDevelopment ? [certificate.hash] : [],
      authority: named ? here : `${hostName(request.authority)}:${port}`,
    };
  };
}
