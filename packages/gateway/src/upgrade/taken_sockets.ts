import type {
  AdminInheritance,
  NodeInheritance,
  PortInheritance,
  SocketInheritance,
  SocketUse,
  Took,
} from './messages.js';

/** The sockets that a node takes over, of those that the process before has */
export class TakenSockets {
  readonly #node: NodeInheritance | undefined;
  readonly #byUse = new Map<SocketUse, SocketInheritance>();
  readonly #ports = new Set<PortInheritance>();
  #admin: AdminInheritance | undefined;

  constructor(node: NodeInheritance | undefined) {
    this.#node = node;
  }

  /** Returns the sockets at an address of the configuration; undefined when there are none. */
  take(use: SocketUse, configured: string): SocketInheritance | undefined {
    const sockets = this.#node?.sockets[use];
    if (sockets?.configured !== configured) return undefined;
    this.#byUse.set(use, sockets);
    return sockets;
  }

  /** As `take`, for a local port. Several at one address are taken in turn: with port 0 they are different ones. */
  takePort(use: PortInheritance['use'], configured: string): PortInheritance | undefined {
    const found = this.#node?.ports?.find(
      (port) => port.use === use && port.configured === configured && !this.#ports.has(port),
    );
    if (found) this.#ports.add(found);
    return found;
  }

  /** As `take`, for the server of operators */
  takeAdmin(configured: string): AdminInheritance | undefined {
    const admin = this.#node?.admin;
    if (admin?.configured === configured) this.#admin = admin;
    return this.#admin;
  }

  /** Descriptors that nobody has taken */
  get rest(): number[] {
    const { sockets = {}, ports = [], admin } = this.#node ?? {};
    const left = Object.entries(sockets).filter(([use]) => !this.#byUse.has(use as SocketUse));
    return [
      ...left.flatMap(([, each]) => descriptorsOf(each)),
      ...ports.filter((port) => !this.#ports.has(port)).map((port) => port.descriptor),
      ...(admin && !this.#admin ? [admin.descriptor] : []),
    ];
  }

  get took(): Took {
    return [...this.#byUse.keys()].map((use) => ({ node: this.#node!.name, use }));
  }
}

function descriptorsOf({ tcp, udp }: SocketInheritance): number[] {
  return [...tcp.flat(), ...(udp ? [...udp.descriptors.flat(), ...udp.links] : [])];
}
