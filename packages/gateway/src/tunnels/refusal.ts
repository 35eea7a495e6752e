/** Why a request gets no tunnel */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(`status ${status}`);
  }
}

/** Name of this proxy in Proxy-Status (RFC 9209) */
const proxyName = 'sheaf';

export const proxyStatus = (parameters: string): Record<string, string> => ({
  'proxy-status': `${proxyName}; ${parameters}`,
});

export const prohibited = (): Refusal => new Refusal(403, proxyStatus('error=destination_ip_prohibited'));

/** Errors of a system that has no room for another socket */
const exhausted = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

export const isExhausted = (code: string): boolean => exhausted.has(code);
export const full = (): Refusal => new Refusal(503, { 'retry-after': '10' });

/**
 * The proxy stops. A client may try again at once over another connection. RFC 9209 §2.3 (proxy_internal_response): the proxy itself made
 * the response, and nothing was sent to the target.
 */
export const draining = (): Refusal =>
  new Refusal(503, { 'retry-after': '1', ...proxyStatus('error=proxy_internal_response; details="draining"') });
