import type { DestinationStream, Logger } from 'pino';
import type { NodeStatus } from '../../observability/status.js';
import type { Fleet } from '../../registry/fleet.js';
import type { LoadedNode } from '../../schema/loaded.js';
import type { ListenAddress } from '../../values/scalars.js';
import type { ReloadSource } from '../../observability/configuration_report.js';
import type { UpgradeSource } from '../../observability/upgrade_report.js';
import type { Share } from '../../upgrade/descriptor_table.js';
import type { NodeInheritance, SocketUse } from '../../upgrade/messages.js';
import type { SocketStore } from '../../upgrade/socket_store.js';
import type { Succession } from '../../upgrade/succession.js';
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
  /** Present where another process can take over from this one */
  upgrade?: UpgradeSource;
  /** Present where this process takes over from another one */
  succession?: Succession;
  /** Present where the service manager may keep the sockets of nodes */
  store?: SocketStore;
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

/** What a node leaves to a process that takes over */
export interface NodeLegacy {
  inheritance: NodeInheritance;
  /** Leaves the sockets that the other process took, and accepts no more connections. */
  commit(took: readonly SocketUse[]): void;
  /** Closes what was opened for a process that does not take over. */
  abandon(): void;
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
  /**
   * Gets ready for another configuration of the same role, until `signal` is aborted. Absent where the role takes none while it
   * runs. @throws UserError
   */
  prepare?(loaded: LoadedNode, signal?: AbortSignal): Promise<Prepared>;
  /** Offers what the node has to a process that takes over. Absent where none can. @throws an error of the system */
  bequeath?(share: Share): NodeLegacy;
  /** Returns the sockets that another process can take over after this one has ended, by name. Absent where none can. */
  sockets?(): [name: string, descriptor: number][];
  /** Serves, where the node has taken over and waits since its start. */
  begin?(): Promise<void>;
  /** Closes the node once all its connections have ended, or its time is over. Another process has taken over. */
  retire?(): Promise<void>;
  /** Resolves once the latest `commit` has reached all threads of the node. Absent where `commit` does all at once. */
  settled?(): Promise<void>;
  /** Refuses new work, waits up to `drainMs` for work that has begun, then stops. */
  close(drainMs?: number): Promise<void>;
}
