/**
 * The client side of `@fails-components/webtransport-transport-http3-quiche`: what
 * @fails-components/webtransport imports under that name resolves to this module once
 * `@sheaf/native/register` has been imported.
 */
import { openSessionClient } from '../http3_client.js';
import type { NativeSession } from '../webtransport/native_session.js';
import type { SessionClient } from '../webtransport/session_client.js';

export function checkQuicheInit(): void {
  // Nothing to initialize.
}

interface ClientArguments {
  host: string;
  port: string | number;
  localPort?: number;
  serverCertificateHashes?: { algorithm: string; value: ArrayBuffer | ArrayBufferView }[];
}

/** The callbacks of the library's `HttpClient`. */
interface ClientHandler {
  onClientConnected(event: { success: boolean }): void;
  onClientWebTransportSupport(event: object): void;
  onHttpWTSessionVisitor(event: { session: NativeSession; reliable: boolean }): void;
  onClientError(event: { errorcode: number; error: string }): void;
}

function hashText(value: ArrayBuffer | ArrayBufferView): string {
  const bytes = ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(value);
  return bytes.toString('hex');
}

export class Http3WebTransportClient {
  jsobj: ClientHandler | undefined;
  socket: Http3WebTransportClientSocket | undefined;

  openWTSession(path: string): void {
    this.socket?.open(path);
  }
  closeClient(): void {
    this.socket?.closeClient();
  }
}

export class Http3WebTransportClientSocket {
  /** Set by the library after `init()`. Its handler is that of the client, not of the socket. */
  cobj: Http3WebTransportClient | undefined;
  private client: SessionClient | undefined;
  private closed = false;

  constructor(private readonly options: ClientArguments) {}

  init(): void {
    const { host, port, serverCertificateHashes } = this.options;
    openSessionClient({
      host,
      port: Number(port),
      certificateHashes: (serverCertificateHashes ?? []).map(({ value }) => hashText(value)),
    }).then(
      async (client) => {
        this.client = client;
        if (this.closed) return client.close();
        this.cobj?.jsobj?.onClientConnected({ success: true });
        if (await client.supportsWebTransport()) this.cobj?.jsobj?.onClientWebTransportSupport({});
      },
      () => this.cobj?.jsobj?.onClientConnected({ success: false }),
    );
  }

  open(path: string): void {
    this.client?.openNativeSession(path).then(
      (session) => this.cobj?.jsobj?.onHttpWTSessionVisitor({ session, reliable: false }),
      (error: unknown) => this.cobj?.jsobj?.onClientError({ errorcode: 0, error: (error as Error).message }),
    );
  }

  closeClient(): void {
    this.closed = true;
    void this.client?.close();
  }
}
