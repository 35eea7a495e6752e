import { createHash } from 'node:crypto';
import type { SocketUse } from './messages.js';

/** What is there for each socket at one address of the configuration, by address and then by worker */
export interface PerSocket<Each> {
  tcp: readonly (readonly Each[])[];
  udp: readonly (readonly Each[])[];
}

/** Where a node has sockets */
export interface SocketPlace {
  node: string;
  use: SocketUse;
  /** The address as the configuration names it, in its canonical form */
  configured: string;
}

/** Name of all sockets that the service manager opens for a service (FileDescriptorName= of systemd.socket(5)) */
export const openedName = 'sheaf';

const pattern = /^(?:listen|http|backbone)-[0-9a-f]{32}-(tcp|udp)-\d+-\d+$/;

/**
 * Returns names for the sockets of a place. The order of workers and their number are part of them: a socket of another number of
 * workers, or of another address, has another name. They are short whatever the configuration says.
 */
export function socketNames({ node, use, configured }: SocketPlace, sockets: PerSocket<unknown>): PerSocket<string> {
  const counts = [sockets.tcp, sockets.udp].map((each) => each.map(({ length }) => length));
  const hash = createHash('sha256')
    .update(JSON.stringify([node, configured, counts]))
    .digest('hex')
    .slice(0, 32);
  const named = (transport: 'tcp' | 'udp'): string[][] =>
    sockets[transport].map((workers, address) =>
      workers.map((_, worker) => `${use}-${hash}-${transport}-${address}-${worker}`),
    );
  return { tcp: named('tcp'), udp: named('udp') };
}

/** Returns the sockets of a place by their names. */
export function namedSockets(place: SocketPlace, sockets: PerSocket<number>): [name: string, descriptor: number][] {
  const names = socketNames(place, sockets);
  const all = [...sockets.tcp.flat(), ...sockets.udp.flat()];
  return [...names.tcp.flat(), ...names.udp.flat()].map((name, at) => [name, all[at]!]);
}

/** Returns what a socket of this name is; undefined for a name that nothing of Sheaf has. */
export function transportOf(name: string): 'TCP' | 'UDP' | undefined {
  const [, transport] = pattern.exec(name) ?? [];
  return transport === undefined ? undefined : transport === 'tcp' ? 'TCP' : 'UDP';
}
