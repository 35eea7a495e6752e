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

/** A stream of a page, and the means to put its response into order, where the transport has one. */
export interface PageStream extends BidirectionalStream {
  setPriority?(priority: StreamPriority): void;
  /** All that the stream will carry, for schedulers that look at what remains. */
  setExpectedBytes?(bytes: number): void;
}

/** The part of a W3C WebTransport session that pages use; that of @sheaf/native fits. */
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
 * To be thrown for a request that only the browser itself can make, since it or its response needs
 * cookies, a log-in or the browser's storage: the page loader sends it again the ordinary way.
 */
export class CredentialsNeeded extends Error {
  override readonly name = 'CredentialsNeeded';
}

/** One request of a page. The head has been checked against docs/reference/wire.md. */
export interface PageRequest extends RequestHead {
  /** Empty for requests without a body. */
  readonly body: ReadableStream<Uint8Array>;
  /** Aborted when the browser lost interest or the session ended. */
  readonly signal: AbortSignal;
}

/** The response; Node's Readable and web streams are both a fitting body. */
export interface PageResponse {
  readonly status: number;
  readonly headers: readonly HeaderField[];
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | null;
}

export interface ServePageOptions {
  /** Requests answered at the same time; more are refused and the browser tries again. */
  readonly maxRequests?: number;
  /** Milliseconds that a head may take to arrive. */
  readonly headTimeoutMs?: number;
  /** Told about each request whose handler or body failed. */
  readonly onError?: (error: unknown, request: RequestHead) => void;
}

/**
 * Answers every stream of a page session by calling `handleRequest`, and every ping; returns when
 * the session has ended. Never throws. Bytes that break the protocol end the session with the
 * error's code; a failing handler resets its own stream with `internal`.
 *
 * Check the origin first (`isOriginAllowed`): WebTransport itself lets any site connect.
 */
export async function servePage(
  session: PageSession,
  handleRequest: (request: PageRequest) => Promise<PageResponse>,
  options: ServePageOptions = {},
): Promise<void> {
  const server = new PageServer(session, handleRequest, options);
  await Promise.all([server.acceptStreams(), server.answerPings()]);
}

// A page with several hundred small images still gets by with a few refusals.
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
      // What the handler left unread is not wanted any more (STOP_SENDING).
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
    // Room for the chunk, not its arrival: the next one is read while this one is sent. A failed
    // write is told by `ready` and `close`.
    await writer.ready;
    ignore(writer.write(chunk));
  }
  await writer.close();
}

// RFC 9110 §6.4.1: these responses end behind the head.
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
    return undefined; // The session failed: the same end.
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

// The stream or the session may be gone already, which is what was wanted.
function ignore(promise: Promise<unknown>): void {
  promise.catch(() => undefined);
}
