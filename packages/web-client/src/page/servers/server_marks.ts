import type { Server } from './tally.js';

/** Returns the class of a server, which gives it the same color in the picture, on its card and in the chart. */
export function markOf(server: Server): string {
  return `path-${placeOf(server) + 1}`;
}

/** Returns the place of a server among the line styles of charts. The gateway has the last one. */
export function placeOf(server: Server): number {
  return server === 'gateway' ? 3 : (server + 2) % 3;
}

const names = new Map<Server, string>([['gateway', 'gateway']]);

export function nameServer(server: Server, name: string): void {
  names.set(server, name);
}

/** Returns the name of a server on its site, or its number until the name is known. */
export function nameOf(server: Server): string {
  return names.get(server) ?? `backend ${server}`;
}
