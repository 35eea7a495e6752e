import {
  ProtocolError,
  answerPing,
  bodyStream,
  decodeRequestHead,
  encodeResponseHead,
  readHead,
  streamError,
  type BidirectionalStream,
  type ErrorName,
  type HeaderField,
  type RequestHead,
  type StreamPriority,
} from '../protocol/index.js';

/** A stream of a page; on transports that support it, with the means to set the priority of its response */
export interface PageStream extends BidirectionalStream {
  setPriority?(priority: StreamPriority): void;
  /** Tells schedulers how many bytes the stream will carry in total. */
  setExpectedBytes?(bytes: number): void;
}

/** The part of a W3C WebTransport session that pages use. Sessions of @sheaf/native have it. */
export interface PageSession {
  readonly closed: Promise<unknown>;
  readonly incomingBidirectionalStreams: ReadableStream<PageStream>;
  readonly datagrams: {
    readonly readable: ReadableStream<Uint8Array>;
    readonly writable?: WritableStream<Uint8Array>;
    createWritable?(): WritableStream<Uint8Array>;
  };
  close(info?: { closeCode?: number; reason?: string }): void;
}

/**
 * Thrown for a request that only the browser itself can make, since the request or its response needs cookies, a log-in
 * or the browser's storage. The page loader then sends the request the ordinary way.
 */
export class CredentialsNeeded extends Error {
  override readonly name = 'CredentialsNeeded';
}

/** One request of a page, whose head was checked against docs/reference/wire.md */
export interface PageRequest extends RequestHead {
  /** Body; empty for requests without one */
  readonly body: ReadableStream<Uint8Array>;
  /** Aborts when the browser abandons the request, or the session ends. */
  readonly signal: AbortSignal;
}

/** The response. Its body may be a Readable of Node or a web stream. */
export interface PageResponse {
  readonly status: number;
  readonly headers: readonly HeaderField[];
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | null;
}

export interface ServePageOptions {
  /** Maximum of requests that are answered at the same time. Further ones are refused, and the browser tries again. */
  readonly maxRequests?: number;
  /** Maximum time for a head to arrive, in milliseconds */
  readonly headTimeoutMs?: number;
  /** Receives each request whose handler or body failed. */
  readonly onError?: (error: unknown, request: RequestHead) => void;
}

/**
 * Answers every stream of a page session by calling `handleRequest`, and every ping. Returns when the session has
 * ended. Never throws. Bytes that break the protocol end the session with the error's code; a failing handler resets
 * its own stream with `internal`.
 *
 * Check the origin first (`isOriginAllowed`), since WebTransport itself lets any site connect.
 */
export async function servePage(
  session: PageSession,
  handleRequest: (request: PageRequest) => Promise<PageResponse>,
  options: ServePageOptions = {},
): Promise<void> {
  const server = new PageServer(session, handleRequest, options);
  await Promise.all([server.acceptStreams(), server.answerPings()]);
}

// A page with several hundred small images still works with a few refusals.
const DEFAULT_MAX_REQUESTS = 256;
const DEFAULT_HEAD_TIMEOUT_MS = 10_000;

class PageServer {
  private active = 0;
  private readonly maxRequests: number;
  private readonly headTimeoutMs: number;
  private readonly ended = new AbortController();

  constructor(
    private readonly session: PageSession,
    private readonly handleRequest: (request: PageRequest) => Promise<PageResponse>,
    private readonly options: ServePageOptions,
  ) {
    this.maxRequests = options.maxRequests ?? DEFAULT_MAX_REQUESTS;
    this.headTimeoutMs = options.headTimeoutMs ?? DEFAULT_HEAD_TIMEOUT_MS;
    const end = (): void => this.ended.abort();
    session.closed.then(end, end);
  }

  async acceptStreams(): Promise<void> {
    const reader = this.session.incomingBidirectionalStreams.getReader();
    for (;;) {
      const next = await nextOrEnd(reader);
      if (next === undefined) return;
      if (this.active >= this.maxRequests) {
        discard(next.readable, next.writable, 'refused');
        continue;
      }
      this.active += 1;
      void this.serveStream(next).finally(() => {
        this.active -= 1;
      });
    }
  }

  async answerPings(): Promise<void> {
    const { datagrams } = this.session;
    const writer = (datagrams.createWritable?.() ?? datagrams.writable)?.getWriter();
    if (writer === undefined) return;
    writer.closed.catch(() => undefined); // The reader notices the end of the session.
    const reader = datagrams.readable.getReader();
    for (;;) {
      const datagram = await nextOrEnd(reader);
      if (datagram === undefined) return;
      const answer = answerPing(datagram);
      if (answer !== undefined) await writer.write(answer).catch(() => undefined);
    }
  }

  private async serveStream(stream: PageStream): Promise<void> {
    const reader = stream.readable.getReader();
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      discard(reader, stream.writable, 'timeout');
    }, this.headTimeoutMs);
    try {
      const { head, rest } = await readHead(reader, decodeRequestHead);
      clearTimeout(timer);
      stream.setPriority?.(head.priority);
      await this.answer(stream, head, bodyStream(rest, reader));
    } catch (error) {
      clearTimeout(timer);
      if (timedOut) return;
      if (error instanceof ProtocolError) {
        this.session.close({ closeCode: error.code, reason: error.message });
      }
      discard(reader, stream.writable, 'none');
    }
  }

  private async answer(stream: PageStream, head: RequestHead, body: ReadableStream<Uint8Array>): Promise<void> {
    const writer = stream.writable.getWriter();
    const interest = new AbortController();
    const signal = AbortSignal.any([interest.signal, this.ended.signal]);
    writer.closed.catch(() => interest.abort());
    try {
      const response = await this.handleRequest({ ...head, body, signal });
      await writeResponse(stream, writer, head.method, response);
    } catch (error) {
      const why = signal.aborted ? 'cancelled' : error instanceof CredentialsNeeded ? 'needs_credentials' : 'internal';
      if (why === 'internal') this.options.onError?.(error, head);
      ignore(writer.abort(streamError(why)));
    } finally {
      // The rest of the body is not wanted (STOP_SENDING).
      if (!body.locked) ignore(body.cancel());
    }
  }
}

async function writeResponse(
  stream: PageStream,
  writer: WritableStreamDefaultWriter<Uint8Array>,
  method: string,
  response: PageResponse,
): Promise<void> {
  const head = encodeResponseHead(response);
  const withBody = hasBody(method, response.status);
  const length = withBody ? contentLength(response) : 0;
  if (length !== undefined) stream.setExpectedBytes?.(head.length + length);
  await writer.write(head);
  for await (const chunk of withBody ? chunksOf(response.body) : []) {
    // Waits for room and not for the write, so that the next chunk is read while this one is sent. `ready` and `close`
    // report a failed write.
    await writer.ready;
    ignore(writer.write(chunk));
  }
  await writer.close();
}

// Returns whether a body follows the head (RFC 9110 §6.4.1).
function hasBody(method: string, status: number): boolean {
  return method !== 'HEAD' && status !== 204 && status !== 205 && status !== 304;
}

function contentLength({ headers }: PageResponse): number | undefined {
  const value = headers.find(([name]) => name === 'content-length')?.[1];
  return value !== undefined && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

function chunksOf(body: PageResponse['body']): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  if (body === null) return [];
  return body instanceof Uint8Array ? [body] : body;
}

async function nextOrEnd<T>(reader: ReadableStreamDefaultReader<T>): Promise<T | undefined> {
  try {
    const { done, value } = await reader.read();
    return done ? undefined : value;
  } catch {
    return undefined; // The session failed, which ends the stream as well.
  }
}

function discard(
  readable: { cancel(reason: unknown): Promise<void> },
  writable: WritableStream<Uint8Array>,
  why: ErrorName,
): void {
  const reason = streamError(why);
  ignore(readable.cancel(reason));
  if (!writable.locked) ignore(writable.abort(reason));
}

// Ignores failures: the stream or the session may be gone already, which was the intention.
function ignore(promise: Promise<unknown>): void {
  promise.catch(() => undefined);
}
