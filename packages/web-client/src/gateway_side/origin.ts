import { isLoopback } from '../protocol/index.js';

/**
 * Returns whether pages of `origin` may use the page session of `authority` (both as in the extended CONNECT). A page
 * session exposes what the gateway serves, and browsers let every site connect. Without this check, any page in the
 * visitor's browser could read an internal gateway. Allowed are the same host on any port, and any loopback origin for
 * a loopback gateway.
 */
export function isOriginAllowed(origin: string | undefined, authority: string): boolean {
  if (origin === undefined || !URL.canParse(origin) || !URL.canParse(`https://${authority}/`)) {
    return false;
  }
  const { protocol, hostname } = new URL(origin);
  const host = new URL(`https://${authority}/`).hostname;
  if (isLoopback(hostname) && isLoopback(host)) return true;
  return protocol === 'https:' && hostname === host;
}
