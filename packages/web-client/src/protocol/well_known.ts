/** Paths below this prefix belong to Sheaf (RFC 8615); the page loader never intercepts them. */
export const WELL_KNOWN_PREFIX = '/.well-known/sheaf/';

export const WELL_KNOWN = {
  /** WebTransport endpoint of page sessions. */
  page_session: `${WELL_KNOWN_PREFIX}page`,
  /** JSON: {@link GatewayDescription}. */
  certificate_hashes: `${WELL_KNOWN_PREFIX}certificate-hashes`,
  /** JSON `{ paths }`: {@link PathReport} of each path of an edge that shows them. */
  paths: `${WELL_KNOWN_PREFIX}paths`,
  /** JSON: which server answers what (docs/multi-end.md). */
  routes: `${WELL_KNOWN_PREFIX}routes`,
  /** JSON: an end's lease of the connection that asks (docs/multi-end.md). */
  lease: `${WELL_KNOWN_PREFIX}lease`,
  /** First load: registers the page loader, then goes to `?to=/path`. */
  start: `${WELL_KNOWN_PREFIX}start`,
  start_script: `${WELL_KNOWN_PREFIX}start.js`,
  /** Module that a site may load itself instead of going through the start page. */
  page_loader: `${WELL_KNOWN_PREFIX}page-loader.js`,
  worker: `${WELL_KNOWN_PREFIX}page-worker.js`,
} as const;

/** How a browser reaches the gateway by WebTransport. */
export interface GatewayDescription {
  /** SHA-256 of the leaf certificates in use, lower-case hexadecimal; empty: a public certificate. */
  readonly hashes: readonly string[];
  /** `host:port` of the UDP listener when it differs from the page's own. */
  readonly authority?: string;
}

/** Checks what `certificate-hashes` answered. @throws TypeError naming the field that is wrong. */
export function parseGatewayDescription(value: unknown): GatewayDescription {
  if (typeof value !== 'object' || value === null) throw new TypeError('not a JSON object');
  const { hashes, authority } = value as { hashes?: unknown; authority?: unknown };
  if (!Array.isArray(hashes) || hashes.length > 16 || !hashes.every(isSha256)) {
    throw new TypeError('hashes: not a list of at most 16 SHA-256 values in hexadecimal');
  }
  if (authority === undefined) return { hashes };
  if (typeof authority !== 'string' || !isAuthority(authority)) {
    throw new TypeError('authority: not a host and port');
  }
  return { hashes, authority };
}

function isSha256(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

function isAuthority(text: string): boolean {
  if (!/^[^/?#@\s]+$/.test(text) || !URL.canParse(`https://${text}/`)) return false;
  return new URL(`https://${text}/`).pathname === '/';
}
