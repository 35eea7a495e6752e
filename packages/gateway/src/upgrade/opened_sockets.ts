import { SocketAddress } from 'node:net';
import { duplicateDescriptor, type BoundSocket } from '@sheaf/native';
import { formatAddress } from '../values/listen_error.js';
import type { ListenAddress } from '../values/scalars.js';

/** A socket that the service manager opened, such as those of a socket unit of systemd */
export interface OpenedSocket {
  transport: 'TCP' | 'UDP';
  bound: BoundSocket;
  descriptor: number;
}

/**
 * The sockets that the service manager opened before it started this process. It passes them to each process of the service, and
 * keeps them open in between. All of them have one name, so that the address of each says what it is for, and their order which
 * worker has it.
 */
export class OpenedSockets {
  readonly #sockets: readonly OpenedSocket[];
  readonly #known = new Set<OpenedSocket>();

  constructor(sockets: readonly OpenedSocket[]) {
    this.#sockets = sockets;
  }

  get size(): number {
    return this.#sockets.length;
  }

  /** Returns the sockets at an address, in the order of the manager. A node knows them from now on. */
  at(transport: OpenedSocket['transport'], local: ListenAddress): OpenedSocket[] {
    const found = this.#sockets.filter(
      ({ transport: kind, bound }) => kind === transport && addressText(bound) === addressText(local),
    );
    for (const socket of found) this.#known.add(socket);
    return found;
  }

  /** Addresses that no node knows */
  get unknown(): string[] {
    const unknown = this.#sockets.filter((socket) => !this.#known.has(socket));
    return [...new Set(unknown.map(({ transport, bound }) => `${transport} ${addressText(bound)}`))];
  }
}

/** Returns descriptors of the same sockets. The ones that the manager passed stay, for another attempt to start the nodes. */
export function copiesOf(sockets: readonly OpenedSocket[]): number[] {
  return sockets.map(({ descriptor }) => duplicateDescriptor(descriptor));
}

/** Returns one text for all spellings of an address. */
function addressText({ address, port }: ListenAddress): string {
  const family = address.includes(':') ? 'ipv6' : 'ipv4';
  return formatAddress({ address: new SocketAddress({ address, family }).address, port });
}
