/** Prefix of the paths that belong to Sheaf (RFC 8615), which the page loader never intercepts */
export const WELL_KNOWN_PREFIX = '/.well-known/sheaf/';

export const WELL_KNOWN = {
  /** WebTransport endpoint of page sessions */
  page_session: `${WELL_KNOWN_PREFIX}page`,
  /** JSON: {@link GatewayDescription} */
  certificate_hashes: `${WELL_KNOWN_PREFIX}certificate-hashes`,
  /** JSON `{ paths }`: {@link PathReport} of each path of an edge that shows its paths */
  paths: `${WELL_KNOWN_PREFIX}paths`,
  /** JSON `{ responses }`: {@link ResponseReport} of the latest responses of an edge that shows its paths */
  responses: `${WELL_KNOWN_PREFIX}responses`,
  /** JSON: the servers that answer each route (docs/internals/multi-end.md) */
  routes: `${WELL_KNOWN_PREFIX}routes`,
  /** JSON: a backend's lease for the requesting connection (docs/internals/multi-end.md) */
  lease: `${WELL_KNOWN_PREFIX}lease`,
  /** Start page, which registers the page loader and then goes to `?to=/path` */
  start: `${WELL_KNOWN_PREFIX}start`,
  start_script: `${WELL_KNOWN_PREFIX}start.js`,
  /** Module that a site may load itself, without the start page */
  page_loader: `${WELL_KNOWN_PREFIX}page-loader.js`,
  worker: `${WELL_KNOWN_PREFIX}page-worker.js`,
} as const;

/** Response header that tells a worker that the browser received cookies. Its only value is `set`. */
export const CREDENTIALS_HEADER = 'sheaf-credentials';

/** Tells a browser how to reach the gateway by WebTransport. */
export interface GatewayDescription {
  /** SHA-256 of the leaf certificates in use, in lower-case hexadecimal; empty for a public certificate */
  readonly hashes: readonly string[];
  /** `host:port` of the UDP listener, if it differs from the page's own */
  readonly authority?: string;
  /** Whether the browser sent cookies or HTTP authentication with the request */
  readonly credentials?: boolean;
  /** The site no longer wants the page loader: the worker removes itself. */
  readonly page_loader?: 'off';
}

/** Checks the response of `certificate-hashes`. @throws TypeError with the name of the wrong field */
export function parseGatewayDescription(value: unknown): GatewayDescription {
  if (typeof value !== 'object' || value === null) throw new TypeError('not a JSON object');
  const { hashes, authority, credentials, page_loader } = value as Readonly<Record<string, unknown>>;
  if (!Array.isArray(hashes) || hashes.length > 16 || !hashes.every(isSha256)) {
    throw new TypeError('hashes: not a list of at most 16 SHA-256 values in hexadecimal');
  }
  if (authority !== undefined && (typeof authority !== 'string' || !isAuthority(authority))) {
    throw new TypeError('authority: not a host and port');
  }
  return {
    hashes,
    ...(authority !== undefined && { authority }),
    ...(credentials === true && { credentials }),
    ...(page_loader === 'off' && { page_loader }),
  };
}

/** Returns whether browsers skip TLS and DNS for this name (Secure Contexts §3.1), as `URL.hostname` writes it. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d+){3}$/.test(hostname)
  );
}

function isSha256(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

function isAuthority(text: string): boolean {
  if (!/^[^/?#@\s]+$/.test(text) || !URL.canParse(`https://${text}/`)) return false;
  return new URL(`https://${text}/`).pathname === '/';
}
