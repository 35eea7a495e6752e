import type { Logger } from 'pino';
import { watchStrayErrors } from '../../errors/stray_errors.js';
import { AdminServer, type AdminSources } from '../../observability/admin_server.js';
import { createLog } from '../../observability/log.js';
import type { LifeStatus, NodeState, NodeStatus } from '../../observability/status.js';
import type { LogOptions } from '../../schema/log.js';
import type { ValuePath } from '../../values/document.js';
import { listenError } from '../../values/listen_error.js';
import type { ListenAddress } from '../../values/scalars.js';
import { version } from '../../values/version.js';
import type { NodeOptions } from './running_node.js';
import { ShutdownStack } from './shutdown_stack.js';

/** The configuration that the life of a node needs */
export interface LifeConfiguration {
  name: string;
  role: NodeStatus['role'];
  options: { log: LogOptions; admin?: ListenAddress | undefined };
  place(path: ValuePath): string;
}

/** What every node has, whatever it serves: a log, a state, a server for operators, and an orderly end */
export class NodeLife {
  readonly log: Logger;
  /** Steps that the owner adds for shutdown; the last one runs first */
  readonly shutdown = new ShutdownStack();
  readonly #configuration: LifeConfiguration;
  readonly #options: NodeOptions;
  readonly #startedAt = new Date();
  #state: NodeState = 'starting';
  #adminAddress: ListenAddress | undefined;
  #closing: Promise<void> | undefined;

  /** @throws UserError when the log cannot be written */
  constructor(configuration: LifeConfiguration, options: NodeOptions) {
    this.#configuration = configuration;
    this.#options = options;
    this.log = createLog(configuration.options.log, options.logStream);
    this.shutdown.add(watchStrayErrors(this.log));
  }

  get state(): NodeState {
    return this.#state;
  }

  get adminAddress(): ListenAddress | undefined {
    return this.#adminAddress;
  }

  status(): LifeStatus {
    return {
      version,
      pid: process.pid,
      node: this.#configuration.name,
      state: this.#state,
      startedAt: this.#startedAt.toISOString(),
      uptimeSeconds: (Date.now() - this.#startedAt.getTime()) / 1_000,
    };
  }

  /** Serves operators, if the configuration says where. @throws UserError when the port is not available */
  async listenAdmin(sources: AdminSources): Promise<void> {
    const { options, place } = this.#configuration;
    const { admin } = options;
    if (!admin) return;
    const server = new AdminServer(admin, sources);
    this.#adminAddress = await server.listen().catch((error: unknown) => {
      throw listenError(error, admin, 'TCP', place(['admin']));
    });
    this.shutdown.add(() => server.close());
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
