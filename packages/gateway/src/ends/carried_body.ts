import { Readable } from 'node:stream';
import type { ClientResponse } from '@sheaf/native';
import { isRest, rangeHeaders, resumptionOf, type Resumption } from '../end_client/byte_range.js';
import { requestOf } from '../http/carried_request.js';
import type { Exchange } from '../http/exchange.js';
import { patienceMs } from './carry_over.js';
import type { EndsInTurn } from './ends_in_turn.js';

/** Beside what the connection to the end holds. */
const readAhead = 64 * 1024;

/** The body of an end's answer; what is missing when it breaks off comes from the next ends, where that can be told. */
export function carriedBody(exchange: Exchange, response: ClientResponse, ends: EndsInTurn): Readable {
  const resumption = resumptionOf(exchange.request.method, response);
  if (!resumption) return response;
  const body = Readable.from(resumed(exchange, response, resumption, ends), { objectMode: false, highWaterMark: readAhead });
  // Who never began to read has not begun with the end either.
  body.once('close', () => response.destroy());
  return body;
}

async function* resumed(exchange: Exchange, response: ClientResponse, resumption: Resumption, ends: EndsInTurn): AsyncGenerator<Buffer> {
  let current = response;
  let received = 0;
  for (;;) {
    try {
      for await (const chunk of current as AsyncIterable<Buffer>) {
        received += chunk.length;
        yield chunk;
      }
      return;
    } catch (error) {
      if (exchange.aborted) throw error;
      if (resumption.last !== undefined && resumption.first + received > resumption.last) return;
      const rest = await restFrom(exchange, resumption, received, ends);
      if (!rest) throw error;
      current = rest;
    }
  }
}

/** The rest of the body, from the first end that has it. */
async function restFrom(exchange: Exchange, resumption: Resumption, received: number, ends: EndsInTurn): Promise<ClientResponse | undefined> {
  for (let turn = ends.next(); turn && !exchange.aborted; turn = ends.next()) {
    try {
      const client = await turn.end.link.whenOpen(patienceMs);
      const request = requestOf(exchange);
      const response = await client.request({ ...request, headers: { ...request.headers, ...rangeHeaders(resumption, received) }, signal: turn.signal });
      if (isRest(response, resumption, received)) return response;
      response.destroy();
    } catch {
      // The client is told of the first fault.
    }
  }
  return undefined;
}
