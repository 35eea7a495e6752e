/** The ways in which a browser can load a page from a gateway. */
export type TransportName = 'webtransport' | 'http3' | 'tcp';

/** Where a gateway is, and how a browser comes to trust it. */
export interface BrowserTarget {
  /** Origin with TLS: HTTP/3 and WebTransport on UDP, HTTP/2 and HTTP/1.1 on TCP. */
  readonly httpsUrl: string;
  /** The same site without TLS on a name that browsers hold for secure (`localhost`). */
  readonly httpUrl: string;
  /** SHA-256 of the certificate's public key, base64. */
  readonly publicKeyHash: string;
}

/** How to make a browser use one transport. */
export interface Transport {
  readonly name: TransportName;
  readonly switches: readonly string[];
  /** Run in every page before its own scripts. */
  readonly initScript?: string;
  readonly url: string;
  /** Accepted names of what carried a resource. */
  readonly carriers: readonly string[];
}

const START = '/.well-known/sheaf/start?to=/';

/** What has to be said to Chromium, and where it has to go, for each transport. */
export function transportsTo({ httpsUrl, httpUrl, publicKeyHash }: BrowserTarget): Transport[] {
  const trust = `--ignore-certificate-errors-spki-list=${publicKeyHash}`;
  const authority = new URL(httpsUrl).host;
  return [
    {
      name: 'webtransport',
      // As a visitor has it: no switch, the certificate is known by its hash.
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
      // A browser without QUIC: the start page finds no WebTransport and goes on without.
      name: 'tcp',
      switches: [trust, '--disable-quic'],
      initScript: 'delete globalThis.WebTransport',
      url: new URL(START, httpsUrl).href,
      carriers: ['HTTP/2', 'HTTP/1.1'],
    },
  ];
}
