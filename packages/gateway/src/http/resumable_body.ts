import type { ClientResponse } from '@sheaf/native';
import { headerValue } from './exchange.js';

/**
 * The part of a representation that a response carries, with the tag that identifies the representation in other
 * responses
 */
export interface Resumption {
  /** Strong entity tag */
  etag: string;
  /** Position of the first byte in the representation */
  first: number;
  /** Position of the last byte; undefined when the response does not tell */
  last: number | undefined;
}

/**
 * Returns how to resume a response after some of its bytes; undefined when it cannot be resumed (RFC 9110 §14, §8.8.1).
 */
export function resumptionOf(
  method: string,
  { status, headers }: Pick<ClientResponse, 'status' | 'headers'>,
): Resumption | undefined {
  const etag = headerValue(headers, 'etag');
  if (method !== 'GET' || etag === undefined || etag.startsWith('W/')) return undefined;
  if (status === 200) {
    const length = Number(headerValue(headers, 'content-length') ?? Number.NaN);
    return { etag, first: 0, last: Number.isSafeInteger(length) ? length - 1 : undefined };
  }
  const range = status === 206 ? contentRange(headerValue(headers, 'content-range')) : undefined;
  return range && { etag, ...range };
}

/** Returns the request headers that ask for the rest. */
export function rangeHeaders({ etag, first, last }: Resumption, received: number): Record<string, string> {
  return { range: `bytes=${first + received}-${last ?? ''}`, 'if-range': etag };
}

/** Returns whether a response is the rest that was asked for. */
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
  /** Reads one server's part of the body. */
  read(response: ClientResponse): AsyncIterable<Buffer>;
  /** Returns whether to request the missing part after this error. Otherwise the body fails with it. */
  mayResume(error: unknown): boolean;
  /** Requests the part after `received` bytes from another server; undefined when none has it. */
  rest(resumption: Resumption, received: number): Promise<ClientResponse | undefined>;
  /** Receives the response that ended the body, unless that response failed after its last byte. */
  onEnd?(last: ClientResponse): void;
}

/** Yields the body of `first`, with missing parts from other responses. */
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
