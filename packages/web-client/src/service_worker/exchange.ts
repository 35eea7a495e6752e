import {
  ERROR_CODES,
  bodyStream,
  decodeResponseHead,
  encodeRequestHead,
  readHead,
  streamError,
  type ByteReader,
  type RequestHead,
  type ResponseHead,
} from '../protocol/index.js';
import type { SessionStream } from './gateway_session.js';

/** The response to one request, whose body arrives as it is read */
export interface Exchange {
  readonly head: ResponseHead;
  readonly body: ReadableStream<Uint8Array>;
}

/** Receives the events of an exchange, for the log. */
export interface ExchangeObserver {
  received(bytes: number): void;
  /** Called once, with `error` when the stream was cut off. */
  ended(error?: unknown): void;
}

/** The body of a request, and the signal that stops it */
export interface OutgoingBody {
  readonly body: ReadableStream<Uint8Array> | null;
  readonly signal: AbortSignal;
}

/** The gateway did not process the request. */
export class StreamRefused extends Error {
  override readonly name = 'StreamRefused';
}

/** Only the browser itself can make this request, which needs cookies, a log-in or storage. */
export class CredentialsNeeded extends Error {
  override readonly name = 'CredentialsNeeded';
}

/**
 * Sends a request on its own stream, and reads the response's head.
 * @throws StreamRefused when it may be sent again; CredentialsNeeded; ProtocolError; the stream's error
 */
export async function exchange(
  stream: SessionStream,
  head: RequestHead,
  request: OutgoingBody,
  observer: ExchangeObserver,
): Promise<Exchange> {
  const reader = observed(stream, observer);
  const cancel = (): void => {
    reader.cancel(streamError('cancelled')).catch(() => undefined);
  };
  request.signal.addEventListener('abort', cancel, { once: true });
  try {
    const sent = send(stream.writable, head, request.body);
    const [answer] = await Promise.all([readHead(reader, decodeResponseHead), sent.head]);
    return { head: answer.head, body: bodyStream(answer.rest, reader) };
  } catch (error) {
    cancel();
    if (codeOf(error) === ERROR_CODES.refused) throw new StreamRefused('refused', { cause: error });
    if (codeOf(error) === ERROR_CODES.needs_credentials)
      throw new CredentialsNeeded('needs credentials', { cause: error });
    throw error;
  }
}

function send(
  writable: WritableStream<Uint8Array>,
  head: RequestHead,
  body: ReadableStream<Uint8Array> | null,
): { head: Promise<void> } {
  const writer = writable.getWriter();
  const headSent = writer.write(encodeRequestHead(head));
  if (body === null) {
    writer.close().catch(() => undefined);
  } else {
    writer.releaseLock();
    // The gateway may answer without reading the rest of the body. Only the response counts.
    body.pipeTo(writable).catch(() => undefined);
  }
  return { head: headSent };
}

/** Returns the stream's reader, which informs the heartbeat and the observer of what arrives. */
function observed(stream: SessionStream, observer: ExchangeObserver): ByteReader {
  const reader = stream.readable.getReader();
  let ended = false;
  const end = (error?: unknown): void => {
    if (ended) return;
    ended = true;
    stream.finished();
    observer.ended(error);
  };
  return {
    async read() {
      try {
        const result = await reader.read();
        stream.heard();
        if (result.done) end();
        else observer.received(result.value.length);
        return result;
      } catch (error) {
        end(error);
        throw error;
      }
    },
    async cancel(reason) {
      end(reason);
      await reader.cancel(reason);
    },
  };
}

function codeOf(error: unknown): number | undefined {
  return (error as { streamErrorCode?: number } | null)?.streamErrorCode ?? undefined;
}
