/** The transports by which a browser can load a page from a gateway */
export type TransportName = 'webtransport' | 'http3' | 'tcp';

/** Addresses of a gateway, and the key by which a browser trusts it */
export interface BrowserTarget {
  /** Origin with TLS: HTTP/3 and WebTransport on UDP, HTTP/2 and HTTP/1.1 on TCP */
  readonly httpsUrl: string;
  /** The same site without TLS, on a name that browsers treat as secure (`localhost`) */
  readonly httpUrl: string;
  /** SHA-256 of the certificate's public key, in base64 */
  readonly publicKeyHash: string;
}

/** Settings that make a browser use one transport */
export interface Transport {
  readonly name: TransportName;
  readonly switches: readonly string[];
  /** Script that runs in every page before its own scripts */
  readonly initScript?: string;
  readonly url: string;
  /** Accepted names of what carried a resource */
  readonly carriers: readonly string[];
}

const START = '/.well-known/sheaf/start?to=/';

/** Returns Chromium's switches and the URL for each transport. */
export function transportsTo({ httpsUrl, httpUrl, publicKeyHash }: BrowserTarget): Transport[] {
  const trust = `--ignore-certificate-errors-spki-list=${publicKeyHash}`;
  const authority = new URL(httpsUrl).host;
  return [
    {
      name: 'webtransport',
      // Needs no switch, as for a visitor: the page knows the certificate's hash.
      switches: [],
      url: new URL(START, httpUrl).href,
      carriers: ['WebTransport'],
    },
    {
      name: 'http3',
      switches: [trust, `--origin-to-force-quic-on=${authority}`],
      url: new URL('/', httpsUrl).href,
      carriers: ['HTTP/3'],
    },
    {
      // Simulates a browser without QUIC: the start page finds no WebTransport, and continues without it.
      name: 'tcp',
      switches: [trust, '--disable-quic'],
      initScript: 'delete globalThis.WebTransport',
      url: new URL(START, httpsUrl).href,
      carriers: ['HTTP/2', 'HTTP/1.1'],
    },
  ];
}
