import { WELL_KNOWN, parseGatewayDescription } from '../../protocol/index.js';

/** Receives the events of a session. */
export interface EchoObserver {
  opening(): void;
  opened(authority: string, milliseconds: number): void;
  lost(reason: string, retryInMs: number): void;
  datagram(bytes: Uint8Array): void;
}

// Path of the echo application in the demo's configuration
const ECHO_PATH = '/echo';
const MAX_PAUSE_MS = 10_000;

/** A WebTransport session with the gateway's echo application, reopened whenever it is lost */
export class EchoSession {
  private transport: WebTransport | undefined;
  private datagrams: WritableStreamDefaultWriter<BufferSource> | undefined;

  constructor(private readonly observer: EchoObserver) {}

  /** Runs as long as the page is open. */
  async run(): Promise<never> {
    for (let failures = 0; ; failures += 1) {
      const openedAt = performance.now();
      const reason = await this.once();
      // A session that lasted is no reason to wait longer for the next one.
      if (performance.now() - openedAt > MAX_PAUSE_MS) failures = 0;
      const pause = Math.min(500 * 2 ** failures, MAX_PAUSE_MS);
      this.observer.lost(reason, pause);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  get isOpen(): boolean {
    return this.transport !== undefined;
  }

  /** Opens a stream. @throws while there is no session, or no stream is granted */
  async openStream(): Promise<WebTransportBidirectionalStream> {
    if (this.transport === undefined) throw new Error('no session');
    return this.transport.createBidirectionalStream();
  }

  /** Sends a datagram, or drops it while there is no session, as may happen to a datagram at any time. */
  sendDatagram(bytes: Uint8Array<ArrayBuffer>): void {
    this.datagrams?.write(bytes).catch(() => undefined);
  }

  /** Runs one session from its opening to its end. Returns why it ended. */
  private async once(): Promise<string> {
    this.observer.opening();
    try {
      const { authority, options } = await description();
      const start = performance.now();
      const transport = new WebTransport(`https://${authority}${ECHO_PATH}`, options);
      transport.closed.catch(() => undefined);
      await transport.ready;
      this.transport = transport;
      this.datagrams = transport.datagrams.writable.getWriter();
      this.datagrams.closed.catch(() => undefined);
      this.observer.opened(authority, performance.now() - start);
      void this.readDatagrams(transport.datagrams.readable as ReadableStream<Uint8Array>);
      const { reason } = await transport.closed;
      return reason === undefined || reason === '' ? 'closed by the gateway' : reason;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      this.transport = undefined;
      this.datagrams = undefined;
    }
  }

  private async readDatagrams(readable: ReadableStream<Uint8Array>): Promise<void> {
    try {
      for await (const datagram of readable) this.observer.datagram(datagram);
    } catch {
      // The session ended, which `once` reports.
    }
  }
}

async function description(): Promise<{ authority: string; options: WebTransportOptions }> {
  const response = await fetch(WELL_KNOWN.certificate_hashes, { cache: 'no-store' });
  if (!response.ok) throw new Error(`certificate-hashes: status ${response.status}`);
  const { hashes, authority } = parseGatewayDescription(await response.json());
  const options: WebTransportOptions = { requireUnreliable: true };
  if (hashes.length > 0) {
    options.serverCertificateHashes = hashes.map((hash) => ({
      algorithm: 'sha-256',
      value: Uint8Array.from(hash.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)),
    }));
  }
  return { authority: authority ?? location.host, options };
}
