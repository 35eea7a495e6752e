import type { DestinationStream } from 'pino';
import type { NodeStatus } from '../../observability/status.js';
import type { ListenAddress } from '../../values/scalars.js';

/** Options that a process gives to each of its nodes */
export interface NodeOptions {
  /** Stream that gets the log instead of standard error */
  logStream?: DestinationStream;
  /** File for TLS secrets (SSLKEYLOGFILE) */
  keyLog?: string;
}

/** A way into a node, for people */
export interface Entrance {
  /** URL, or address with a port */
  at: string;
  /** What is there */
  serves: string;
}

/** A node that runs in this process, whatever its role */
export interface RunningNode {
  readonly name: string;
  readonly role: NodeStatus['role'];
  /** Problems that did not stop the start. The code that starts the node shows them. */
  readonly warnings: readonly string[];
  readonly entrances: readonly Entrance[];
  /** A command that shows that the node works */
  readonly trial: string;
  /** Address for operators, if configured */
  readonly adminAddress: ListenAddress | undefined;
  status(): NodeStatus;
  /** Refuses new work, waits up to `drainMs` for work that has begun, then stops. */
  close(drainMs?: number): Promise<void>;
}
