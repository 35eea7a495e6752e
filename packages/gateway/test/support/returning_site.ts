import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { freePort } from '../../src/values/free_port.js';
import { linesOfGateway, startSite, type Site } from './site.js';

const able = 'a backend can send responses from the address of this gateway';

export interface ReturningSite {
  /** Routes of each backend, as YAML; those of the files below by default. */
  routes?: string;
  backends?: number;
  files?: Record<string, string | Buffer>;
  /** Ways of the gateway's route. */
  delivery?: string;
  /** Node that numbers the packets where clients permit it. */
  recovery?: 'gateway' | 'backend';
  /** Further lines of the gateway, and of each backend */
  gateway?: string[];
  backend?: string[];
}

/** A gateway whose backends send from its address, by a shared port. Their files have strong entity tags. */
export async function returningSite({
  routes = '[{ path: /, files: files }]',
  backends = 1,
  files = {},
  delivery = '[return, proxy]',
  recovery = 'gateway',
  gateway = [],
  backend = [],
}: ReturningSite): Promise<Site> {
  const port = await freePort();
  const names = Array.from({ length: backends }, (_, index) => `backend${index + 1}`);
  const running = await startSite({
    port,
    routes: `[{ path: /, backends: [${names.join(', ')}], delivery: ${delivery} }]`,
    backends: Object.fromEntries(names.map((name) => [name, routes])),
    gateway,
    backend: [`return: { from: "127.0.0.1:${port}", via: own-address, recovery: ${recovery} }`, ...backend],
    files: {
      'files/.keep': '',
      ...Object.fromEntries(Object.entries(files).map(([name, content]) => [`files/${name}`, content])),
    },
  });
  for (const name of Object.keys(files)) await utimes(join(running.directory, 'files', name), 1e9, 1e9);
  await vi.waitFor(() => expect(running.log.filter(({ msg }) => msg === able)).toHaveLength(backends), 30_000);
  return running;
}

type Line = Record<string, unknown>;

/** Waits for what the gateway logs about so many requests to a path, which says how their responses travelled. */
export function travelled(site: Site, path: string, count = 1): Promise<Line[]> {
  return linesOf(() => linesOfGateway(site), path, count);
}

/** Waits for what the backends log about them. */
export function loggedByBackends(site: Site, path: string, count = 1): Promise<Line[]> {
  const ofBackends = (): Line[] => {
    const others = new Set(linesOfGateway(site));
    return site.log.filter((line) => line['msg'] === 'request' && !others.has(line));
  };
  return linesOf(ofBackends, path, count);
}

function linesOf(lines: () => Line[], path: string, count: number): Promise<Line[]> {
  return vi.waitFor(() => {
    const found = lines().filter((line) => line['path'] === path);
    expect(found).toHaveLength(count);
    return found;
  }, 30_000);
}
