import type { Server } from './tally.js';

/** Class and colour of a server: the same in the picture, on its card and in the chart. */
export function markOf(server: Server): string {
  return `path-${placeOf(server) + 1}`;
}

/** Place of a server among the looks of lines in charts: the gateway has the last one. */
export function placeOf(server: Server): number {
  return server === 'gateway' ? 3 : (server + 2) % 3;
}

const names = new Map<Server, string>([['gateway', 'gateway']]);

export function nameServer(server: Server, name: string): void {
  names.set(server, name);
}

/** As its site calls it; by its number while nobody has said that. */
export function nameOf(server: Server): string {
  return names.get(server) ?? `backend ${server}`;
}
