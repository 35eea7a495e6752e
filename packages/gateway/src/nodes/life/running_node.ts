import type { DestinationStream, Logger } from 'pino';
import type { NodeStatus } from '../../observability/status.js';
import type { Fleet } from '../../registry/fleet.js';
import type { LoadedNode } from '../../schema/loaded.js';
import type { ListenAddress } from '../../values/scalars.js';
import type { ReloadSource } from '../../observability/configuration_report.js';
import type { Prepared } from './reload.js';

/** Options that a process gives to each of its nodes */
export interface NodeOptions {
  /** Stream that gets the log instead of standard error */
  logStream?: DestinationStream;
  /** File for TLS secrets (SSLKEYLOGFILE) */
  keyLog?: string;
  /** Number of the thread that runs the node, where it is one of several alike */
  worker?: number;
  /** The configuration of the process, if it can be read again */
  reload?: ReloadSource;
  /** The other nodes of the fleet, where the configuration has a registry */
  fleet?: Fleet;
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
  readonly log: Logger;
  /** Problems that did not stop the start. The code that starts the node shows them. */
  readonly warnings: readonly string[];
  readonly entrances: readonly Entrance[];
  /** A command that shows that the node works */
  readonly trial: string;
  /** Address for operators, if configured */
  readonly adminAddress: ListenAddress | undefined;
  status(): NodeStatus;
  /** Gets ready for another configuration of the same role. Absent where the role takes none while it runs. @throws UserError */
  prepare?(loaded: LoadedNode): Promise<Prepared>;
  /** Resolves once the latest `commit` has reached all threads of the node. Absent where `commit` does all at once. */
  settled?(): Promise<void>;
  /** Refuses new work, waits up to `drainMs` for work that has begun, then stops. */
  close(drainMs?: number): Promise<void>;
}
