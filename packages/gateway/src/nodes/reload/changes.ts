import { routeLabel } from '../../http/router.js';
import type { LoadedNode } from '../../schema/loaded.js';
import type { RouteOptions } from '../../schema/routes.js';
import { canonicalText } from '../../values/canonical.js';
import type { ConfigurationChange } from '../../observability/configuration_report.js';

type Options = Readonly<Record<string, unknown>>;

/** Options whose own keys are options of their own in a difference */
const grouped = new Set(['limits', 'log']);

/** Returns the options of a node by name, such as `listen` and `limits.drain`. */
export function optionsOf({ node }: LoadedNode): Map<string, unknown> {
  const options = new Map<string, unknown>();
  for (const [key, value] of Object.entries(node as Options)) {
    if (!grouped.has(key)) options.set(key, value);
    else for (const [inner, each] of Object.entries(value as Options)) options.set(`${key}.${inner}`, each);
  }
  return options;
}

/** Returns what differs between two configurations of a node. */
export function changesOf(before: LoadedNode, after: LoadedNode): ConfigurationChange[] {
  const [old, now] = [optionsOf(before), optionsOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((option): ConfigurationChange[] => {
    const [from, to] = [old.get(option), now.get(option)];
    if (option === 'routes') return routeChanges(before.name, from as RouteOptions[], to as RouteOptions[]);
    const change = changeOf(from, to);
    return change ? [{ node: before.name, option, change }] : [];
  });
}

function changeOf(before: unknown, after: unknown): ConfigurationChange['change'] | undefined {
  if (canonicalText(before) === canonicalText(after)) return undefined;
  if (before === undefined) return 'added';
  return after === undefined ? 'removed' : 'changed';
}

/** Compares routes by what they match: methods, host and path. Their order matters, too. */
function routeChanges(
  node: string,
  before: readonly RouteOptions[],
  after: readonly RouteOptions[],
): ConfigurationChange[] {
  const [old, now] = [byLabel(before), byLabel(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])];
  const changes = names.flatMap((name): ConfigurationChange[] => {
    const change = changeOf(old.get(name), now.get(name));
    return change ? [{ node, option: 'routes', change, name }] : [];
  });
  const moved = changes.length === 0 && canonicalText(before) !== canonicalText(after);
  return moved ? [{ node, option: 'routes', change: 'changed' }] : changes;
}

function byLabel(routes: readonly RouteOptions[]): Map<string, RouteOptions[]> {
  const found = new Map<string, RouteOptions[]>();
  for (const route of routes) {
    const label = routeLabel(route);
    found.set(label, [...(found.get(label) ?? []), route]);
  }
  return found;
}
