/**
 * Takes the place of `@fails-components/webtransport-transport-http3-quiche`: what
 * @fails-components/webtransport imports under that name resolves to this module once
 * `@sheaf/native/register` has been imported.
 */
import { createHttp3Server } from '../http3_server.js';
import { openSessionClient, type SessionClient } from '../http3_client.js';
import type { Http3Server, WebTransportRequest } from '../types.js';
import type { NativeSession } from './native_session.js';

export function checkQuicheInit(): void {
  // Nothing to initialise.
}

interface ServerArguments {
  host: string;
  port: string | number;
  cert: string;
  privKey: string;
  /** Sessions of this server's port are used, and no port of our own is opened. */
  sheafServer?: Http3Server;
}

/** The callbacks of the library's `HttpServer`. */
interface ServerHandler {
  onSessionRequest(event: object): void;
  onHttpWTSessionVisitor(event: object): void;
  onServerListening(event: { host: string | undefined; port: number | undefined }): void;
  onServerError(error: Error): void;
  onServerClose(): void;
}

interface FinishedRequest {
  status: number;
  path: string;
  header: Record<string, unknown>;
  session: WebTransportRequest;
  peerAddress: string;
  userData?: object;
}

/** The header object that the library hands to its request callback. */
function headerOf(request: WebTransportRequest): Record<string, unknown> {
  return {
    ...request.headers,
    ':path': request.url,
    ':authority': request.authority,
    ':method': 'CONNECT',
    ':protocol': 'webtransport',
  };
}

export class Http3WebTransportServer {
  jsobj: ServerHandler | undefined;
  /** Set by the library. */
  socket: Http3WebTransportServerSocket | undefined;
  private readonly paths = new Set<string>();
  private hasRequestHandler = false;

  constructor(_options: ServerArguments) {}

  addPath(path: string): void {
    this.paths.add(path);
  }
  setJSRequestHandler(hasHandler: boolean): void {
    this.hasRequestHandler = hasHandler;
  }
  startServer(): void {
    this.socket?.start();
  }
  updateCert(certificate: string, privateKey: string): void {
    this.socket?.updateCertificate(certificate, privateKey);
  }

  finishSessionRequest(request: FinishedRequest): void {
    if (request.status !== 200) return request.session.reject(request.status);
    this.open(request.session, request.path, request.header, request.userData);
  }

  onRequest(request: WebTransportRequest): void {
    const header = headerOf(request);
    if (this.hasRequestHandler) {
      return this.jsobj?.onSessionRequest({
        header,
        peerAddress: peerAddress(request),
        session: request,
        promise: {},
        protocol: 'http3:libquiche',
      });
    }
    const path = request.url.split('?', 1)[0]!;
    if (this.paths.has(path)) this.open(request, path, header);
    else request.reject(404);
  }

  private open(request: WebTransportRequest, path: string, header: object, userData?: object): void {
    const session = request.accept() as NativeSession;
    this.jsobj?.onHttpWTSessionVisitor({ session, path, header, peerAddress: peerAddress(request), userData });
  }
}

function peerAddress({ remoteAddress }: WebTransportRequest): string {
  return `${remoteAddress.address}:${remoteAddress.port}`;
}

export class Http3WebTransportServerSocket {
  /** Both are set by the library after `init()`. */
  cobj: Http3WebTransportServer | undefined;
  jsobj: ServerHandler | undefined;
  private readonly server: Http3Server;
  private readonly owned: boolean;
  private readonly onRequest = (request: WebTransportRequest): void => this.cobj?.onRequest(request);

  constructor(options: ServerArguments) {
    this.owned = options.sheafServer === undefined;
    this.server =
      options.sheafServer ??
      createHttp3Server({
        address: options.host,
        port: Number(options.port),
        certificate: { certificate: options.cert, privateKey: options.privKey },
        alpn: ['h3'],
        webtransport: true,
      });
  }

  init(): void {
    this.server.on('webtransport', this.onRequest);
  }
  /** Listens, or tells at once that the server given already does. */
  start(): void {
    if (!this.owned) {
      setImmediate(() => this.jsobj?.onServerListening({ host: undefined, port: undefined }));
      return;
    }
    this.server.listen().then(
      ({ address, port }) => this.jsobj?.onServerListening({ host: address, port }),
      (error: unknown) => this.jsobj?.onServerError(error instanceof Error ? error : new Error(String(error))),
    );
  }
  updateCertificate(certificate: string, privateKey: string): void {
    this.server.updateCertificate({ certificate, privateKey });
  }
  stopServer(): void {
    this.server.off('webtransport', this.onRequest);
    const closed = this.owned ? this.server.close() : Promise.resolve();
    void closed.then(() => this.jsobj?.onServerClose());
  }
}

interface ClientArguments {
  host: string;
  port: string | number;
  localPort?: number;
  serverCertificateHashes?: Array<{ algorithm: string; value: ArrayBuffer | ArrayBufferView }>;
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

  constructor(_options: ClientArguments) {}

  openWTSession(path: string): void {
    this.socket?.open(path);
  }
  closeClient(): void {
    this.socket?.closeClient();
  }
}

export class Http3WebTransportClientSocket {
  /** Set by the library after `init()`; its handler is that of the client, not the socket. */
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
    this.client?.openWebTransport(path).then(
      (session) => this.cobj?.jsobj?.onHttpWTSessionVisitor({ session: session as NativeSession, reliable: false }),
      (error: Error) => this.cobj?.jsobj?.onClientError({ errorcode: 0, error: error.message }),
    );
  }

  closeClient(): void {
    this.closed = true;
    void this.client?.close();
  }
}
