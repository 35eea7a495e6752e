import type { Http3Server, NativeModule, ServedConnection, ServerConnection } from '@sheaf/native';
import type { Logger } from 'pino';
import { BackboneLink } from '../backbone/backbone_link.js';
import { BackboneListener } from '../backbone/backbone_listener.js';
import { ownKey, publicKeyOf } from '../backbone/identity.js';
import { newRun, type WorkerOfProcess } from '../backbone/run.js';
import { loadSodium, type Sodium } from '../backbone/sealed_message.js';
import { deliveryOrder } from '../../schema/delivery.js';
import type { RouteOptions } from '../../schema/routes.js';
import type { NodeKey, NodePublicKey } from '../../values/node_key.js';
import { keySource, type LoadedBackendReference, type LoadedGateway } from '../../schema/loaded.js';
import { UserError } from '../../errors/user_error.js';
import type { GatewayResponse, Target } from '../../http/exchange.js';
import type { Tracer } from '../../http/tracer.js';
import { fromBackboneRequest } from '../../http/quic_request.js';
import type { RequestHandler } from '../../http/request_handler.js';
import { listenError } from '../../values/listen_error.js';
import type { RunningAddresses } from '../../values/running_addresses.js';
import { within } from '../../values/within.js';
import type { SharedUdp } from '../../values/shared_udp.js';
import { BackendRoute, type Offers } from './backend_route.js';
import type { BackendReport } from '../../observability/backend_report.js';
import { BackendProcesses } from './backend_processes.js';
import { BackendWatch } from './backend_watch.js';
import { describeRoutes, routesHeader, type RouteMap } from '../protocol/route_map.js';

export interface PrimaryOptions {
  loaded: LoadedGateway;
  module: NativeModule;
  running: RunningAddresses;
  /** Which of several workers of the process this is */
  worker?: WorkerOfProcess | undefined;
  /** Sockets of the backbone. Default: its own */
  shared?: SharedUdp | undefined;
  /** Traces hand-overs */
  tracer?: Tracer | undefined;
  log: Logger;
}

export type RunsListener = (watch: BackendWatch, runs: BackboneLink) => void;

export interface NodeIdentity {
  key: NodeKey;
  sodium: Sodium;
  run: Buffer;
}

/** The part of a gateway that serves as the primary of its backends */
export class Primary {
  readonly #options: PrimaryOptions;
  readonly #backends = new Map<string, BackendProcesses>();
  /** Hears of each connection for runs. */
  #onRuns: RunsListener | undefined;
  #identity!: NodeIdentity;
  readonly #byId = new Map<number, BackendProcesses>();
  /** Backends with a route for which clients ask them directly */
  #direct: readonly BackendProcesses[] = [];
  #listener!: BackboneListener;
  #routeMap!: RouteMap;
  #handler: RequestHandler | undefined;

  private constructor(options: PrimaryOptions) {
    this.#options = options;
  }

  /** Opens the backbone. No backend is called before `attach`. @throws UserError */
  static async open(options: PrimaryOptions): Promise<Primary> {
    const primary = new Primary(options);
    await primary.#open();
    return primary;
  }

  /** What this node proves itself by, and what its process is named by */
  get identity(): NodeIdentity {
    return this.#identity;
  }

  get routeMap(): RouteMap {
    return this.#routeMap;
  }

  get backboneAddress(): BackboneListener['address'] {
    return this.#listener.address;
  }

  /** Returns the target of a route to these backends. `offers` makes responses go past this gateway. */
  route(names: readonly string[], offers?: Offers): Target {
    const backends = names.flatMap((name) => this.#backends.get(name) ?? []);
    return new BackendRoute(
      backends.map((backend) => () => backend.current),
      this.#options.log,
      offers,
    );
  }

  /** Tells `listener` of the connection for runs of each process of a backend that a route lets send from the gateway's address. */
  eachRuns(listener: RunsListener): void {
    this.#onRuns = listener;
    for (const { current } of this.#backends.values()) if (current.runs) listener(current, current.runs);
  }

  /** Tells clients these routes from now on. Connections that are open keep the backends that they know. */
  useRoutes(routes: readonly RouteOptions[]): void {
    this.#routeMap = describeRoutes(routes, (backend) => this.#backends.get(backend)?.id);
    const direct = new Set(this.#routeMap.routes.flatMap(({ backends }) => backends));
    this.#direct = [...this.#backends.values()].filter(({ id }) => direct.has(id));
  }

  /** Sets the handler for requests that backends proxy back to the gateway. */
  answerWith(handler: RequestHandler): void {
    this.#handler = handler;
  }

  /** Starts to hand over the connections of this server. */
  attach(server: Http3Server): void {
    server.on('connection', (connection) => this.#onConnection(connection));
    for (const backend of this.#backends.values()) backend.start();
  }

  /** Resolves once all backends can be asked, or after this time in milliseconds. */
  async linked(ms: number): Promise<void> {
    await within(Promise.all([...this.#backends.values()].map(({ current }) => current.link.opened())), ms);
  }

  /** Returns headers for clients that can use them. */
  headersFor(connection: ServedConnection): Readonly<Record<string, string>> {
    return (connection as Partial<ServerConnection>).multiEnd ? { [routesHeader]: `"${this.#routeMap.version}"` } : {};
  }

  report(): BackendReport[] {
    return [...this.#backends.values()].map((backend) => backend.report());
  }

  /** Drains a backend, or puts it back into service. Returns false when there is no such backend. */
  drain(name: string, drains: boolean): boolean {
    const backend = this.#backends.get(name);
    backend?.drain(drains);
    return backend !== undefined;
  }

  /** Another process answers backends from now on. */
  stopAccepting(): void {
    this.#listener.retire();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#backends.values()].map((backend) => backend.close()));
    await this.#listener.close();
  }

  async #open(): Promise<void> {
    const { loaded } = this.#options;
    const key = await ownKey(keySource(loaded, loaded.directory));
    const sodium = await loadSodium();
    const run = newRun(this.#options.worker);
    this.#identity = { key, sodium, run };
    const callers = new Map<string, NodePublicKey>();
    for (const reference of loaded.backends) {
      const publicKey = await publicKeyOf(reference.identity);
      callers.set(reference.name, publicKey);
      this.#checkPorts(reference);
      const backend = new BackendProcesses(reference.id, (onReplaced) => this.#watch(reference, publicKey, onReplaced));
      this.#backends.set(reference.name, backend);
      this.#byId.set(reference.id, backend);
    }
    this.useRoutes(loaded.node.routes);
    await this.#listen(callers);
  }

  async #listen(callers: ReadonlyMap<string, NodePublicKey>): Promise<void> {
    const { loaded, module, shared, log } = this.#options;
    const { node, name } = loaded;
    const { key, run } = this.identity;
    const address = node.backbone;
    if (!address) throw new Error(`${name} has no backbone`);
    this.#listener = await BackboneListener.listen({
      module,
      name,
      key,
      run,
      address,
      shared,
      callers,
      hint: `if it is one of the backends of \`${name}\`, its \`public_key\` there is`,
      onRequest: (request, response) =>
        void this.#handler?.handle(fromBackboneRequest(request, response), response as unknown as GatewayResponse),
      log,
    }).catch((error: unknown) => {
      throw listenError(error, address, 'UDP', loaded.place(['backbone']));
    });
  }

  /** Makes the connections to a backend, which are opened later. */
  #watch(reference: LoadedBackendReference, publicKey: NodePublicKey, onReplaced: () => void): BackendWatch {
    const { loaded, module, running, log, tracer } = this.#options;
    const { key, sodium, run } = this.#identity;
    const common = {
      module,
      name: loaded.name,
      key,
      run,
      peer: { name: reference.name, publicKey },
      address: () => running.backboneOf(reference.name, reference.backbone),
      log,
    };
    // A worker of the backend has what it was told: hand-overs, keys and orders belong together.
    const link = new BackboneLink({ ...common, use: 'messages' });
    const requests = new BackboneLink({ ...common, use: 'requests', after: link });
    const runs = returnsBy(loaded.node.routes, reference.name)
      ? new BackboneLink({ ...common, use: 'runs', after: link })
      : undefined;
    const watch = new BackendWatch({
      reference,
      link,
      requests,
      runs,
      key,
      sodium,
      addresses: () => running.addressesOf(reference.name, reference.addresses),
      isDoubtful: () => running.isDoubtful(reference.name),
      onReplaced,
      tracer,
      log,
    });
    if (runs) this.#onRuns?.(watch, runs);
    return watch;
  }

  #onConnection(connection: ServerConnection): void {
    connection.once('multiEndReady', () => {
      for (const backend of this.#direct) backend.addConnection(connection);
    });
    connection.on('backendMessage', (backend, bytes) => this.#byId.get(backend)?.onBackendMessage(connection, bytes));
    connection.on('backendPathAbandoned', (backend, code) =>
      this.#byId.get(backend)?.onPathAbandoned(connection, code),
    );
    connection.once('close', () => {
      for (const backend of this.#backends.values()) backend.removeConnection(connection);
    });
  }

  /** Checks that all configured ports of a backend are known. @throws UserError */
  #checkPorts({ name, backbone, addresses }: LoadedBackendReference): void {
    const { loaded, running } = this.#options;
    const ports = [running.backboneOf(name, backbone), ...running.addressesOf(name, addresses)].map(
      (address) => address?.port,
    );
    if (!ports.includes(0)) return;
    throw new UserError('CONFIG_CONFLICT', `a port of the backend \`${name}\` is not known`, {
      place: loaded.place(['backends']),
      hint: 'give its `listen` and its `backbone` ports, or run both nodes in one process',
    });
  }
}

/** Returns whether a route lets this backend send from the gateway's address. */
export function returnsBy(routes: readonly RouteOptions[], backend: string): boolean {
  return routes.some(
    ({ backends = [], delivery }) => backends.includes(backend) && deliveryOrder(delivery).includes('return'),
  );
}
