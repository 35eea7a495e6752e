import type { Http3Server, ServedConnection } from '@sheaf/native';
import type { Registry } from 'prom-client';
import type { RequestHandler } from '../../http/request_handler.js';
import type { StreamTakers } from '../../http/taken_stream.js';
import type { ConnectHandlers } from '../../listeners/quic_listener.js';
import type { AdminSources } from '../../observability/admin_server.js';

/** WebTransport sessions of a node */
export interface Sessions {
  readonly openSessions: number;
  /** Asks every session to end. Sessions may finish their work. */
  drain(): void;
  close(): void;
}

/** The part of a node that answers its clients, for as long as it runs */
export interface Service extends AdminSources {
  registry: Registry;
  handler: RequestHandler;
  /** Handler for requests that other nodes proxy here */
  proxied?: RequestHandler;
  /** Gets the QUIC listener before the first connection. */
  attach?(native: Http3Server): void;
  /** Answer CONNECT over HTTP/3. */
  connects?: ConnectHandlers;
  /** As of `QuicListenerOptions` */
  initialStreamWindow?: number | undefined;
  /** Answer CONNECT over HTTP/2 and HTTP/1.1, and requests of HTTP/1.1 that upgrade. */
  takers?: StreamTakers | undefined;
  /** How often clients met the bounds of channels */
  channelLimitHits?(): Readonly<Record<string, number>>;
  /** Returns headers for every response on a QUIC connection. */
  headersFor?(connection: ServedConnection): Readonly<Record<string, string>>;
  /** Ends what goes on for as long as clients like, as the node is about to stop. */
  drain?(): void;
  /** Accepts the sessions of a QUIC listener. */
  acceptSessions(native: Http3Server): Promise<Sessions>;
}
