import type { Readable } from 'node:stream';
import { headerValue, type GatewayRequest } from './exchange.js';

/** A request body went over the limit: the answer is 413. */
export class BodyTooLarge extends Error {
  constructor(limit: number) {
    super(`request body above ${limit} bytes`);
    this.name = 'BodyTooLarge';
  }
}

/** The declared length of the body; undefined when the request does not say. */
export function declaredLength(request: GatewayRequest): number | undefined {
  const text = headerValue(request.headers, 'content-length');
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Whether a body follows the headers. Without a length only the methods that carry bodies count. */
export function hasBody(request: GatewayRequest): boolean {
  const length = declaredLength(request);
  if (length !== undefined) return length > 0;
  if (request.headers['transfer-encoding'] !== undefined) return true;
  return Number(request.httpVersion) >= 2 && !['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE'].includes(request.method);
}

/**
 * The body, counted while it streams. Nothing is read before the consumer asks.
 * @throws BodyTooLarge at the first byte over `limit`.
 */
export async function* limitedBody(body: Readable, limit: number): AsyncGenerator<Buffer> {
  let received = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    received += chunk.length;
    if (received > limit) throw new BodyTooLarge(limit);
    yield chunk;
  }
}
