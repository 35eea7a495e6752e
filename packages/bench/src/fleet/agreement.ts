import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetNode } from './fleet_nodes.js';

const pollMs = 250;
/** Time in milliseconds for which all have to agree: longer than a node takes to become suspect */
const steadyMs = 4_000;
/** Seconds since the registry told something, at most, since nodes speak once in a second */
const freshSeconds = 3;

/** How the nodes that live, and those that do not, have to look to all */
export interface Expected {
  living: readonly FleetNode[];
  dead?: readonly FleetNode[];
}

/**
 * Waits until all living nodes tell one view in `/status`, in which the dead are not alive, and hear the registry. Returns the
 * milliseconds from `since` until they began to agree; undefined when they do not within `patienceMs`.
 */
export async function timeToAgree(expected: Expected, since: number, patienceMs: number): Promise<number | undefined> {
  let began: number | undefined;
  const end = performance.now() + patienceMs;
  while (performance.now() < end) {
    const at = performance.now();
    if (!(await allAgree(expected))) began = undefined;
    else began ??= at;
    if (began !== undefined && performance.now() - began >= steadyMs) return Math.round(began - since);
    await sleep(pollMs);
  }
  return undefined;
}

async function allAgree({ living, dead = [] }: Expected): Promise<boolean> {
  const views = await Promise.all(living.map(viewOf));
  const [first] = views;
  return (
    first !== undefined &&
    views.every((view) => view === first) &&
    living.every(({ name }) => stateIn(first, name) === 'alive') &&
    dead.every(({ name }) => stateIn(first, name) !== 'alive')
  );
}

/** Returns the view of a node as text; undefined when it has none, or an old one. */
async function viewOf(node: FleetNode): Promise<string | undefined> {
  const registry = (await node.status())?.registry;
  if (!registry?.connected || (registry.ageSeconds ?? Infinity) > freshSeconds) return undefined;
  const nodes = [...registry.nodes].sort((a, b) => (a.name < b.name ? -1 : 1));
  return JSON.stringify(
    Object.fromEntries(
      nodes.map(({ name, state, draining, serverId, backbone }) => [name, { state, draining, serverId, backbone }]),
    ),
  );
}

const stateIn = (view: string, name: string): string | undefined =>
  (JSON.parse(view) as Record<string, { state: string } | undefined>)[name]?.state;
