import { Writable } from 'node:stream';
import { refusalText, type FlatFields } from './addon.js';
import { appendField, appendFields } from './headers.js';
import { H3_INTERNAL_ERROR, H3_REQUEST_CANCELLED, type StreamLocation } from './http3_body.js';
import { lendable, ownCopy, returnsToPool, takeFromPool } from './lent_bytes.js';
import { QuicError } from './quic_error.js';
import { inConnection, requestNodes } from './priority_nodes.js';
import type { ReturnLost } from './direct_return_types.js';
import type { ServerResponse, StreamPriority } from './types.js';

const H3_NO_ERROR = 0x100;
const smallChunk = 16 * 1024;
/** `quic::DelegatedStreams::Orphan::Reason` */
const returnLostReasons = ['silent', 'unreachable', 'failed', 'gone', 'paths'] as const;

type HeaderValue = string | number | string[];
type Headers = Readonly<Record<string, HeaderValue>>;

/**
 * Refusals caused by the caller's mistake: invalid fields and fields that are too large. Other refusals mean that
 * nobody waits for the response any more.
 */
const invalid = new Set([-6, -7]);
/** Codes of `Refusal` for a response that the client does not want any more */
const left = new Set([-4, -9]);

const writableLength = Object.getOwnPropertyDescriptor(Writable.prototype, 'writableLength')!.get!;
const writableEnded = Object.getOwnPropertyDescriptor(Writable.prototype, 'writableEnded')!.get!;

export class Http3ServerResponse extends Writable implements ServerResponse {
  statusCode = 200;
  headersSent = false;
  private readonly headers = new Map<string, string | string[]>();
  private trailers: FlatFields | undefined;
  private resume: ((error?: Error | null) => void) | undefined;
  private awaited: ((bytes: number) => void) | undefined;
  private ended = false;
  keepsChunks = false;
  private handedOff = false;
  /** Offset in the stream at which a body ends that was handed off */
  private returnedEnd = 0;
  /** Whether the client has all of a response that was handed off */
  private returned = false;
  /** Offset before which the client has everything, as it was last known */
  private taken = 0;
  private hasBody = false;
  private lastChunk: Buffer | undefined;

  static {
    // Properties of Writable in its types: no accessor may override them in a class.
    const length = function (this: Http3ServerResponse): unknown {
      return this.handedOff ? this.unread() : writableLength.call(this);
    };
    const ended = function (this: Http3ServerResponse): unknown {
      return this.returned || writableEnded.call(this);
    };
    Object.defineProperty(this.prototype, 'writableLength', { get: length, configurable: true });
    Object.defineProperty(this.prototype, 'writableEnded', { get: ended, configurable: true });
  }

  constructor(private readonly location: StreamLocation) {
    super({ highWaterMark: 64 * 1024, decodeStrings: true });
  }

  setHeader(name: string, value: HeaderValue): this {
    if (this.headersSent) throw new QuicError('HEADERS_SENT', `cannot set ${name}: the headers have been sent`);
    this.headers.set(name.toLowerCase(), Array.isArray(value) ? value : String(value));
    return this;
  }
  getHeader(name: string): string | string[] | undefined {
    return this.headers.get(name.toLowerCase());
  }
  getHeaderNames(): string[] {
    return [...this.headers.keys()];
  }
  getHeaders(): Record<string, string | string[]> {
    return Object.fromEntries(this.headers);
  }
  hasHeader(name: string): boolean {
    return this.headers.has(name.toLowerCase());
  }
  removeHeader(name: string): void {
    this.headers.delete(name.toLowerCase());
  }
  writeHead(status: number, headers?: Record<string, HeaderValue>): this {
    this.statusCode = status;
    for (const [name, value] of Object.entries(headers ?? {})) this.setHeader(name, value);
    return this;
  }
  writeInformational(status: number, headers: Headers = {}): void {
    if (this.headersSent || this.destroyed) return;
    const fields: FlatFields = [':status', String(status)];
    appendFields(fields, headers);
    const { endpoint, connection, stream } = this.location;
    const outcome = endpoint.submitInformational(connection, stream, fields);
    if (invalid.has(outcome)) throw new QuicError('WRITE_REFUSED', `interim response: ${refusalText(outcome)}`);
  }
  addTrailers(headers: Headers): void {
    const fields: FlatFields = [];
    appendFields(fields, headers);
    if (fields.length > 0) this.trailers = fields;
  }
  setPriority(priority: StreamPriority): void {
    const { endpoint, connection, stream } = this.location;
    endpoint.setStreamPriority(connection, stream, inConnection(priority, requestNodes));
  }
  flushHeaders(): void {
    this.sendHeaders(true);
  }

  handOff(head: Uint8Array, bodyLength: number): number {
    if (this.headersSent) throw new QuicError('HEADERS_SENT', 'cannot hand off: the headers have been sent');
    const { endpoint, connection, stream } = this.location;
    const start = endpoint.handOff(connection, stream, head, bodyLength);
    if (start < 0) {
      throw new QuicError(left.has(start) ? 'CLIENT_LEFT' : 'WRITE_REFUSED', `response: ${refusalText(start)}`);
    }
    this.headersSent = true;
    this.handedOff = true;
    this.returnedEnd = start + bodyLength;
    return start;
  }
  /** Sends the head, and leaves the body and its end to the engine. `close` follows when the stream has closed. */
  leaveToEngine(): void {
    this.flushHeaders();
    this.handedOff = true;
  }
  get acknowledged(): number {
    const { endpoint, connection, stream } = this.location;
    // Nothing is known of a stream that has closed.
    if (!this.ended) this.taken = Math.max(this.taken, endpoint.acknowledgedOffset(connection, stream));
    return this.taken;
  }
  writeInstead(offset: number, chunk: Uint8Array | undefined, fin: boolean): boolean {
    const { endpoint, connection, stream } = this.location;
    const outcome = endpoint.writeInstead(connection, stream, offset, chunk && ownCopy(chunk), fin);
    if (outcome < 0) throw new QuicError('WRITE_REFUSED', `response: ${refusalText(outcome)}`);
    return outcome > 0;
  }

  /** Called when the backend of a response that was handed off sends nothing more. */
  onReturnLost(reason: number, code: number, acknowledged: number): void {
    const lost: ReturnLost = { reason: returnLostReasons[reason] ?? 'gone', code, acknowledged };
    if (!this.emit('returnLost', lost)) this.destroy(new QuicError('BACKEND_LOST', 'the backend is gone', code));
  }
  /** Called when the peer has everything, or nothing more is sent. */
  onStreamClosed(): void {
    if (!this.handedOff || this.destroyed) return;
    this.ended = this.returned = true;
    // The ways of a Writable to its end would cost more than the rest of such a response.
    this.emit('finish');
    this.emit('close');
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    const refused = this.sendHeaders(true);
    if (refused) return callback(refused);
    // Sends the chunk given to `end` together with the end of the stream, unless something still waits behind it.
    this.ended = chunk === this.lastChunk && this.writableLength === chunk.byteLength && this.trailers === undefined;
    this.send(chunk, this.ended, callback);
  }

  override end(callback?: () => void): this;
  override end(chunk: unknown, callback?: () => void): this;
  override end(chunk: unknown, encoding: BufferEncoding, callback?: () => void): this;
  override end(...args: unknown[]): this {
    if (Buffer.isBuffer(args[0])) this.lastChunk = args[0];
    return super.end(...(args as [unknown, BufferEncoding, () => void]));
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.ended) return callback();
    this.ended = true;
    const refused = this.sendHeaders(this.trailers !== undefined);
    if (refused) callback(refused);
    else if (this.trailers) this.sendTrailers(this.trailers, callback);
    else if (this.hasBody) this.send(undefined, true, callback);
    else callback();
  }

  room(): number | Promise<number> {
    const size = this.reserve();
    return size > 0 ? size : new Promise((resolve) => (this.awaited = resolve));
  }

  takeBuffer(bytes: number): Buffer {
    return takeFromPool(this.location.endpoint, bytes);
  }

  /** Called when the addon's buffer has room again. */
  onWritable(): void {
    const { resume, awaited } = this;
    this.resume = undefined;
    resume?.();
    const size = awaited ? this.reserve() : 0;
    if (size > 0) this.endWait(size);
    if (this.handedOff) this.emit('drain');
  }

  /** Called when the peer is gone. */
  onConnectionClosed(): void {
    this.onStopped(H3_NO_ERROR);
  }
  /** Called when the peer does not want the rest. */
  onStopped(code: number): void {
    if (this.handedOff) this.taken = this.acknowledged;
    this.ended = true;
    this.destroy(
      code === H3_REQUEST_CANCELLED || code === H3_NO_ERROR
        ? undefined
        : new QuicError('STREAM_STOPPED', `the peer stopped the response (0x${code.toString(16)})`, code),
    );
  }

  reset(code: number): void {
    if (!this.ended) {
      this.ended = true;
      const { endpoint, connection, stream } = this.location;
      endpoint.resetStream(connection, stream, code);
    }
    this.destroy();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.ended) {
      if (this.handedOff) this.taken = this.acknowledged;
      this.ended = true;
      const { endpoint, connection, stream } = this.location;
      endpoint.resetStream(connection, stream, error ? H3_INTERNAL_ERROR : H3_REQUEST_CANCELLED);
    }
    this.resume?.(error);
    this.resume = undefined;
    this.endWait(smallChunk);
    callback(error);
  }

  /** Asks for room. Returns some size once the stream is gone, so that the writer does not wait forever. */
  private reserve(): number {
    const { endpoint, connection, stream } = this.location;
    return this.ended || this.destroyed ? smallChunk : endpoint.reserveBody(connection, stream);
  }

  /** Returns how many bytes of a body that was handed off the client does not have. */
  private unread(): number {
    return this.ended ? 0 : Math.max(0, this.returnedEnd - this.acknowledged);
  }

  private endWait(bytes: number): void {
    const { awaited } = this;
    this.awaited = undefined;
    awaited?.(bytes);
  }

  private send(chunk: Buffer | undefined, fin: boolean, callback: (error?: Error | null) => void): void {
    const { endpoint, connection, stream } = this.location;
    const bytes = chunk && (this.keepsChunks ? lendable(chunk) : ownCopy(chunk));
    const outcome = endpoint.writeBody(connection, stream, bytes, fin, this.keepsChunks && returnsToPool(chunk));
    if (outcome < 0) callback(new QuicError('WRITE_REFUSED', `response: ${refusalText(outcome)}`));
    else if (outcome === 0 && !fin) this.resume = callback;
    else callback();
  }

  private sendTrailers(trailers: FlatFields, callback: (error?: Error | null) => void): void {
    const { endpoint, connection, stream } = this.location;
    const outcome = endpoint.submitTrailers(connection, stream, trailers);
    callback(outcome < 0 ? new QuicError('WRITE_REFUSED', `trailers: ${refusalText(outcome)}`) : null);
  }

  private sendHeaders(hasBody: boolean): QuicError | null {
    if (this.headersSent) return null;
    this.headersSent = true;
    this.hasBody = hasBody;
    const fields: FlatFields = [':status', String(this.statusCode)];
    for (const [name, value] of this.headers) appendField(fields, name, value);
    const { endpoint, connection, stream } = this.location;
    const outcome = endpoint.submitResponse(connection, stream, fields, hasBody);
    return outcome < 0 ? new QuicError('WRITE_REFUSED', `response: ${refusalText(outcome)}`) : null;
  }
}
