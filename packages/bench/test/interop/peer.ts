import type { RunningProgram } from './programs.js';
import type { Feature } from './matrix.js';
import type { Site } from './site.js';

export interface Download {
  path: string;
  bytes: number;
  sha256: string;
}

/** What a client says about one of its connections. */
export interface ConnectionReport {
  downloads: Download[];
  resumed?: boolean;
  /** 0-RTT was accepted. */
  early?: boolean;
  keyUpdates?: number;
  /** Something came after it had gone over to another port. */
  migrated?: boolean;
}

export interface DownloadOptions {
  site: Pick<Site, 'certificates'>;
  port: number;
  /** All at once. */
  paths: readonly string[];
  /** One after the other; default 1. */
  connections?: number;
  /** With the ticket of the connection before; at a browser's gateway, which is this one, connections end by silence. */
  resume?: Pick<Site, 'idlePort' | 'untilIdle'>;
  /** In 0-RTT, with such a ticket. */
  early?: boolean;
  largeHello?: boolean;
  keyUpdate?: boolean;
  migrate?: boolean;
}

/** What came of WebTransport with the module `exercise_module.mjs`. */
export interface SessionReport {
  bidirectional: boolean;
  unidirectional: boolean;
  /** What the gateway wrote on streams of its own: first one that is sent back, then what it says to that. */
  opened: string[];
  datagram: boolean;
  /** The session to /close. The other one is closed with 4242 and `closed by the client`. */
  closed: { code: number; reason: string };
}

export interface ServerOptions {
  site: Site;
  retry: boolean;
  /** Takes key shares of another group than Sheaf's client has: it asks for another ClientHello. */
  otherGroup: boolean;
}

/** An implementation that is not ours. What it lacks is in `cannot`. */
export interface Peer {
  slug: string;
  name: string;
  protocol: 'h3' | 'hq-interop';
  download(options: DownloadOptions): Promise<ConnectionReport[]>;
  exerciseSessions?(site: Site): Promise<SessionReport>;
  /** GET /bytes/N. */
  serve?(options: ServerOptions): Promise<RunningProgram & { port: number }>;
  /** Why there is nothing to try. */
  cannot: Partial<Record<Feature, string>>;
  /** What is known to fail, and why; it is tried nevertheless. */
  fails?: Partial<Record<Feature, string>>;
  stop?(): Promise<void>;
}
