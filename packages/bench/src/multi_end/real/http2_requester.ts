import { once } from 'node:events';
import { connect, type ClientHttp2Session, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';

/** Bytes that may be on their way to the client, in a stream and in all of them: more than loopback ever holds */
const WINDOW_BYTES = 16 << 20;

/** Client of one connection of HTTP/2 over TLS to a server on 127.0.0.1, whose certificate it does not check */
export class Http2Requester {
  readonly #session: ClientHttp2Session;

  private constructor(session: ClientHttp2Session) {
    this.#session = session;
  }

  /** @throws Error when there is no connection */
  static async connect(port: number): Promise<Http2Requester> {
    const session = connect(`https://localhost:${port}`, {
      host: '127.0.0.1',
      servername: 'localhost',
      rejectUnauthorized: false,
      minVersion: 'TLSv1.3',
      // Every server then encrypts with the same, which HTTP/3 uses, too.
      ciphers: 'TLS_AES_128_GCM_SHA256',
      settings: { initialWindowSize: WINDOW_BYTES, enablePush: false },
    });
    await once(session, 'connect');
    session.setLocalWindowSize(WINDOW_BYTES);
    return new Http2Requester(session);
  }

  /** Returns status and body once the headers of the response are there. @throws Error when the request fails */
  async request(headers: OutgoingHttpHeaders, body?: Buffer): Promise<{ status: number; body: AsyncIterable<Buffer> }> {
    const stream = this.#session.request({ ':scheme': 'https', ':authority': 'localhost', ...headers });
    stream.end(body);
    const [response] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    return { status: Number(response[':status']), body: stream as AsyncIterable<Buffer> };
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#session.close(resolve);
    });
  }
}
