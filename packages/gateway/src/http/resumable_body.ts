import type { ClientResponse } from '@sheaf/native';
import { headerValue } from './exchange.js';

/** The part of a representation that a response carries, and by what another response is known to be of the same one. */
export interface Resumption {
  /** Strong entity tag. */
  etag: string;
  /** Of the first byte, in the representation. */
  first: number;
  /** Of the last one; undefined when the response does not say. */
  last: number | undefined;
}

/** How a response can be taken up again after some of its bytes; undefined when it cannot (RFC 9110 §14, §8.8.1). */
export function resumptionOf(method: string, { status, headers }: ClientResponse): Resumption | undefined {
  const etag = headerValue(headers, 'etag');
  if (method !== 'GET' || etag === undefined || etag.startsWith('W/')) return undefined;
  if (status === 200) {
    const length = Number(headerValue(headers, 'content-length') ?? Number.NaN);
    return { etag, first: 0, last: Number.isSafeInteger(length) ? length - 1 : undefined };
  }
  const range = status === 206 ? contentRange(headerValue(headers, 'content-range')) : undefined;
  return range && { etag, ...range };
}

/** The request's headers for the rest. */
export function rangeHeaders({ etag, first, last }: Resumption, received: number): Record<string, string> {
  return { range: `bytes=${first + received}-${last ?? ''}`, 'if-range': etag };
}

/** Whether a response is that rest. */
export function isRest(
  { status, headers }: ClientResponse,
  { etag, first, last }: Resumption,
  received: number,
): boolean {
  if (status !== 206 || headerValue(headers, 'etag') !== etag) return false;
  const range = contentRange(headerValue(headers, 'content-range'));
  return range?.first === first + received && (last === undefined || range.last === last);
}

export interface BodySource {
  /** One server's part of the body. */
  read(response: ClientResponse): AsyncIterable<Buffer>;
  /** Whether what is missing is asked for after this error; otherwise the body ends with it. */
  mayResume(error: unknown): boolean;
  /** What is missing after `received` bytes, from another server; undefined when none has it. */
  rest(resumption: Resumption, received: number): Promise<ClientResponse | undefined>;
  /** Is told which response the body ended with, unless that broke off behind its last byte. */
  onEnd?(last: ClientResponse): void;
}

/** The body of `first`, with what was missing from other responses. */
export async function* resumedBody(
  first: ClientResponse,
  resumption: Resumption | undefined,
  source: BodySource,
): AsyncGenerator<Buffer> {
  let current = first;
  let received = 0;
  for (;;) {
    try {
      for await (const chunk of source.read(current)) {
        received += chunk.length;
        yield chunk;
      }
      source.onEnd?.(current);
      return;
    } catch (error) {
      if (!resumption || !source.mayResume(error)) throw error;
      if (resumption.last !== undefined && resumption.first + received > resumption.last) return;
      const next = await source.rest(resumption, received);
      if (!next) throw error;
      current = next;
    }
  }
}

function contentRange(value: string | undefined): { first: number; last: number } | undefined {
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(?:\d+|\*)$/.exec(value ?? '');
  return match ? { first: Number(match[1]), last: Number(match[2]) } : undefined;
}
