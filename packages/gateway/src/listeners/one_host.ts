import type { IncomingMessage } from 'node:http';

/**
 * Returns whether a request of HTTP/1.0 or HTTP/1.1 has exactly one Host field (RFC 9112 §3.2). Otherwise the next server might read
 * another host from it. HTTP/1.0 may omit the field.
 */
export function hasOneHost({
  rawHeaders,
  httpVersion,
  headers,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion' | 'headers'>): boolean {
  if (httpVersion === '1.0' && headers.host === undefined) return true;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]!.length === 4 && rawHeaders[index]!.toLowerCase() === 'host') hosts += 1;
  return hosts === 1;
}
