import { Readable } from 'node:stream';
import type { ClientResponse } from '@sheaf/native';
import { isRest, rangeHeaders, resumedBody, resumptionOf, type Resumption } from '../../http/resumable_body.js';
import { requestOf } from '../../http/proxied_request.js';
import type { Exchange } from '../../http/exchange.js';
import { patienceMs } from '../backbone/proxy_request.js';
import type { BackendsInTurn } from './backends_in_turn.js';

/** Bytes to read ahead, in addition to those that the backend's connection holds */
const readAhead = 64 * 1024;

/**
 * Returns the body of a backend's response. If it breaks off, the missing part comes from the next backends, provided
 * that they have the same representation.
 */
export function proxiedBody(exchange: Exchange, response: ClientResponse, backends: BackendsInTurn): Readable {
  const resumption = resumptionOf(exchange.request.method, response);
  if (!resumption) return response;
  const body = Readable.from(resumedFrom(exchange, response, resumption, backends), {
    objectMode: false,
    highWaterMark: readAhead,
  });
  // If the body was never read, the backend's response has not begun either, and must be closed here.
  body.once('close', () => response.destroy());
  return body;
}

/** Yields the body of a response. What is missing when it breaks off comes from the next backends. */
export function resumedFrom(
  exchange: Exchange,
  response: ClientResponse,
  resumption: Resumption,
  backends: BackendsInTurn,
): AsyncGenerator<Buffer> {
  return resumedBody(response, resumption, {
    read: (part) => part as AsyncIterable<Buffer>,
    mayResume: () => !exchange.aborted,
    rest: (_resumption, received) => restFrom(exchange, resumption, received, backends),
  });
}

/** Requests the rest of the body from the first backend that has it. */
export async function restFrom(
  exchange: Exchange,
  resumption: Resumption,
  received: number,
  backends: BackendsInTurn,
): Promise<ClientResponse | undefined> {
  for (let turn = backends.next(); turn && !exchange.aborted; turn = backends.next()) {
    try {
      const client = await turn.backend.link.whenOpen(patienceMs);
      exchange.trace?.passOn(turn.backend.link.server);
      const request = requestOf(exchange, turn.signal);
      const response = await client.request({
        ...request,
        headers: { ...request.headers, ...rangeHeaders(resumption, received) },
      });
      turn.answered();
      if (isRest(response, resumption, received)) return response;
      response.destroy();
    } catch {
      // The client gets the error of the first failure.
    }
  }
  return undefined;
}
