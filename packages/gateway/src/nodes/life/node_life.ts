import { closeSync } from 'node:fs';
import type { Logger } from 'pino';
import { watchStrayErrors } from '../../errors/stray_errors.js';
import { AdminServer, type AdminSources } from '../../observability/admin_server.js';
import { createLog } from '../../observability/log.js';
import type { LifeStatus, NodeState, NodeStatus } from '../../observability/status.js';
import type { LogOptions } from '../../schema/log.js';
import type { Share } from '../../upgrade/descriptor_table.js';
import type { AdminInheritance } from '../../upgrade/messages.js';
import { canonicalText } from '../../values/canonical.js';
import type { ValuePath } from '../../values/document.js';
import { listenError } from '../../values/listen_error.js';
import type { ListenAddress } from '../../values/scalars.js';
import { version } from '../../values/version.js';
import { Place } from './place.js';
import type { Prepared } from './reload.js';
import type { NodeOptions } from './running_node.js';
import { ShutdownStack } from './shutdown_stack.js';

/** The configuration that the life of a node needs */
export interface LifeConfiguration {
  name: string;
  role: NodeStatus['role'];
  options: { log: LogOptions; admin?: ListenAddress | undefined };
  place(path: ValuePath): string;
}

/** Where a configuration wants operators to be served */
export interface AdminConfiguration {
  admin: ListenAddress | undefined;
  place(path: ValuePath): string;
}

/** A listening socket for operators, which another process can take over */
export interface AdminSocket {
  /** Descriptor that the server takes */
  descriptor: number;
  /** One more of the same socket, which stays until the server ends */
  kept: number;
}

interface OpenAdmin {
  server: AdminServer;
  address: ListenAddress;
  /** The address as the configuration names it, in its canonical form */
  configured: string;
  kept: number | undefined;
}

export interface NodeLifeOptions extends NodeOptions {
  /** Opens sockets for operators that another process can take over. Default: the server opens its own. */
  openAdminSocket?: (wanted: ListenAddress) => AdminSocket;
}

/** Time in milliseconds for an operator to get the response to the request that took the address of the server away */
const adminDrainMs = 5_000;

/** What every node has, whatever it serves: a log, a state, a server for operators, and an orderly end */
export class NodeLife {
  readonly log: Logger;
  /** Steps that the owner adds for shutdown; the last one runs first */
  readonly shutdown = new ShutdownStack();
  readonly #configuration: LifeConfiguration;
  readonly #options: NodeLifeOptions;
  readonly #startedAt = new Date();
  #state: NodeState = 'starting';
  readonly #admin = new Place<OpenAdmin>((admin, drainMs) => {
    if (admin.kept !== undefined) closeSync(admin.kept);
    admin.kept = undefined;
    return admin.server.close(drainMs);
  });
  #closing: Promise<void> | undefined;

  /** @throws UserError when the log cannot be written */
  constructor(configuration: LifeConfiguration, options: NodeLifeOptions) {
    this.#configuration = configuration;
    this.#options = options;
    this.log = createLog(configuration.options.log, options.logStream, options.worker);
    this.shutdown.add(watchStrayErrors(this.log));
    this.shutdown.add(() => this.#admin.close(0));
  }

  get state(): NodeState {
    return this.#state;
  }

  get adminAddress(): ListenAddress | undefined {
    return this.#admin.current?.address;
  }

  status(): LifeStatus {
    return {
      version,
      pid: process.pid,
      node: this.#configuration.name,
      state: this.#state,
      startedAt: this.#startedAt.toISOString(),
      uptimeSeconds: (Date.now() - this.#startedAt.getTime()) / 1_000,
      ...(this.#options.reload && { configuration: this.#options.reload.status() }),
      ...(this.#options.upgrade && { upgrade: this.#options.upgrade.status() }),
      ...(this.#options.fleet && { registry: this.#options.fleet.status() }),
    };
  }

  /** Serves operators, if the configuration says where. @throws UserError when the port is not available */
  async listenAdmin(sources: AdminSources): Promise<void> {
    const { options, place } = this.#configuration;
    (await this.prepareAdmin({ admin: options.admin, place }, sources)).commit();
  }

  /** Opens a server for operators where another configuration wants one. @throws UserError when the port is not available */
  prepareAdmin({ admin, place }: AdminConfiguration, sources: AdminSources): Promise<Prepared> {
    const { reload, upgrade, openAdminSocket } = this.#options;
    const all = {
      ...sources,
      ...(reload && { reload: () => reload.reload() }),
      ...(upgrade && { upgrade: () => upgrade.upgrade() }),
    };
    const open = async (wanted: ListenAddress): Promise<OpenAdmin> => {
      try {
        const socket = openAdminSocket?.(wanted);
        const server = new AdminServer(wanted, all, socket?.descriptor);
        const address = await server.listen();
        return { server, address, configured: canonicalText(wanted), kept: socket?.kept };
      } catch (error) {
        throw listenError(error, wanted, 'TCP', place(['admin']));
      }
    };
    return this.#admin.prepare(admin, open, adminDrainMs);
  }

  /** Offers the socket for operators to another process. */
  bequeathAdmin(share: Share): AdminInheritance | undefined {
    const { configured, kept } = this.#admin.current ?? {};
    return configured === undefined || kept === undefined ? undefined : { configured, descriptor: share(kept) };
  }

  /** Ends the server for operators: another process has its socket. Requests in flight are answered. */
  async leaveAdmin(): Promise<void> {
    const left = await this.#admin.prepare(undefined, () => Promise.reject(new Error('nothing to open')), adminDrainMs);
    left.commit();
  }

  /**
   * Marks the node as serving. Writes warnings to the log, unless that is standard error, where the caller shows them.
   */
  serve(listen: string, warnings: readonly string[] = []): void {
    const { log } = this;
    const { name, role, options } = this.#configuration;
    if (options.log.file !== undefined || this.#options.logStream) for (const warning of warnings) log.warn(warning);
    this.#state = 'serving';
    log.info({ node: name, role, listen, version }, 'serving');
  }

  /** Ends the work that `drain` waits for, and then runs the steps of `shutdown`; once. */
  close(drain: () => Promise<unknown>): Promise<void> {
    this.#closing ??= this.#close(drain);
    return this.#closing;
  }

  async #close(drain: () => Promise<unknown>): Promise<void> {
    this.#state = 'draining';
    await drain();
    await this.shutdown.run();
    this.#state = 'stopped';
    this.log.info('stopped');
    await new Promise<void>((resolve) => this.log.flush(() => resolve()));
  }
}
