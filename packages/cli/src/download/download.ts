import { errorMessage, resetCode, UserError } from '@sheaf/gateway/client';
import type { ClientRequestOptions, ClientResponse, HeaderMap, ReceivedResponse } from '@sheaf/native';
import { BodyHash } from './body_hash.js';
import { HashThread } from './hash_thread.js';

/** Result of one request */
export interface Downloaded {
  status: number;
  bytes: number;
  sha256: string;
  ms: number;
  /** Fields behind the body, if there are any */
  trailers?: HeaderMap;
  /** Interim responses (1xx), if there were any */
  interim?: InterimResponse[];
}

export interface InterimResponse {
  status: number;
  headers: HeaderMap;
}

/** H3_EXCESSIVE_LOAD (RFC 9114 §8.1) */
const H3_EXCESSIVE_LOAD = 0x107;
/** Maximum of interim responses that are kept; the others are useless to everybody */
const maxInterim = 16;

/** Sends requests over a connection, or over a connection and the backends that it reaches. */
export interface Requester {
  request(options: ClientRequestOptions): Promise<ClientResponse>;
}

/** Receives the bytes of a body, part by part. Resolves when it no longer needs their memory. */
export type BodySink = (part: Uint8Array) => Promise<void>;

/**
 * Reads a body and hashes it. A body from one server is read without a copy, and one that several servers send, in
 * chunks.
 */
async function receive(response: ClientResponse | ReceivedResponse, hash: BodyHash, sink: BodySink): Promise<void> {
  if (!('readInto' in response)) {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      await sink(chunk);
      await hash.update(chunk);
    }
    return;
  }
  for (;;) {
    const room = hash.room();
    const read = await response.readInto(room);
    if (read === 0) return;
    await sink(room.subarray(0, read));
    await hash.take(read);
  }
}

/**
 * Sends one request and reads its response to the end.
 * @throws UserError when the response is incomplete
 */
async function download(
  client: Requester,
  request: ClientRequestOptions,
  thread: HashThread,
  sink?: BodySink,
): Promise<Downloaded> {
  const started = performance.now();
  const hash = new BodyHash(thread);
  const interim: InterimResponse[] = [];
  let bytes = 0;
  try {
    const response = await client.request({
      ...request,
      onInformational: (status, headers) => {
        if (interim.length < maxInterim) interim.push({ status, headers });
      },
    });
    await receive(response, hash, async (part) => {
      bytes += part.length;
      await sink?.(part);
    });
    const ms = performance.now() - started;
    return {
      status: response.status,
      bytes,
      sha256: await hash.digest(),
      ms,
      ...(Object.keys(response.trailers).length > 0 ? { trailers: response.trailers } : {}),
      ...(interim.length > 0 ? { interim } : {}),
    };
  } catch (error) {
    if (error instanceof UserError) throw error;
    // The client refuses the fields once it knows the server's limit. Before that, the server resets the request with
    // H3_EXCESSIVE_LOAD.
    if (errorMessage(error).includes('fields too large') || resetCode(error) === H3_EXCESSIVE_LOAD) {
      throw new UserError('USAGE', "the request's headers are larger than the server takes", {
        hint: 'shorten what --header gives',
        cause: error,
      });
    }
    throw new UserError('REQUEST_FAILED', `the response broke off after ${bytes} bytes: ${errorMessage(error)}`, {
      hint: 'try again; --qlog records what the connection did',
      cause: error,
    });
  }
}

export interface Repetition {
  /** Number of requests */
  repeat: number;
  /** Requests in flight at the same time */
  parallel: number;
}

/** Sends the same request several times over one connection. The first body goes to `sink`. */
export async function downloadRepeatedly(
  client: Requester,
  request: ClientRequestOptions,
  { repeat, parallel }: Repetition,
  sink?: BodySink,
): Promise<Downloaded[]> {
  const results: Downloaded[] = new Array<Downloaded>(repeat);
  const thread = new HashThread();
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < repeat; index = next++) {
      results[index] = await download(client, request, thread, index === 0 ? sink : undefined);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, repeat) }, worker));
  return results;
}
