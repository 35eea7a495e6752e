import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import type { GatewayResponse } from './exchange.js';
import { WrittenBuffers } from './written_buffers.js';

type Headers = Readonly<Record<string, string | string[]>>;

/** Converts a response of HTTP/1.0, HTTP/1.1 or HTTP/2. */
export function fromNodeResponse(response: ServerResponse | Http2ServerResponse): GatewayResponse {
  const writeInformational = 'stream' in response ? interimOfHttp2(response) : interimOfHttp1(response);
  const takeBuffer = (bytes: number): Buffer => buffers.take(bytes);
  return Object.assign(response, { writeInformational, takeBuffer, write: writingFrom(response) });
}

/** Buffers for all responses of this thread */
const buffers = new WrittenBuffers();

type Write = (chunk: unknown, ...rest: unknown[]) => boolean;

/**
 * Returns the response's `write`, extended to release Buffers once Node has sent them. After a failure Node may still
 * read them.
 */
function writingFrom(response: ServerResponse | Http2ServerResponse): Write {
  const write = response.write.bind(response) as Write;
  return (chunk, ...rest) => {
    if (!buffers.isTaken(chunk)) return write(chunk, ...rest);
    return write(chunk, (error?: Error | null) => {
      if (!error) buffers.giveBack(chunk);
    });
  };
}

function interimOfHttp2({ stream }: Http2ServerResponse): (status: number, headers: Headers) => void {
  return (status, headers) => {
    if (!stream.destroyed) stream.additionalHeaders({ ...headers, ':status': status });
  };
}

/**
 * Sends 102 and 103, the only ones that Node writes over HTTP/1.1; 103 needs a `link`. HTTP/1.0 has no interim
 * responses.
 */
function interimOfHttp1(response: ServerResponse): (status: number, headers: Headers) => void {
  return (status, headers) => {
    if (response.req.httpVersion === '1.0') return;
    if (status === 102) response.writeProcessing();
    if (status === 103 && headers['link'] !== undefined) response.writeEarlyHints({ ...headers });
  };
}
