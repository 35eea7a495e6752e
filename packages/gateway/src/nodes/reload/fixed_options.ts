import { UserError } from '../../errors/user_error.js';
import { returnsBy } from '../../multi_end/primary/primary.js';
import type { LoadedNode, LoadedRegistry } from '../../schema/loaded.js';
import { canonicalText } from '../../values/canonical.js';
import { optionsOf } from './changes.js';

/** Options that a reload can change, on nodes that take one. docs/reference/configuration.md is tested against this list. */
export const changeableOptions = [
  'listen',
  'http',
  'admin',
  'tls',
  'public_url',
  'page_loader',
  'routes',
  'limits.body_size',
  'limits.body_timeout',
  'limits.unread_timeout',
  'limits.slow_responses',
  'limits.drain',
  'limits.upgrade',
];

/** What stays while a node runs, by the name of an option that says it */
type Fixed = Map<string, unknown>;

/** @throws UserError when nodes are added or removed, or get other roles */
export function refuseOtherNodes(before: readonly LoadedNode[], after: readonly LoadedNode[]): void {
  const [old, now] = [new Map(before.map(named)), new Map(after.map(named))];
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const [from, to] = [old.get(name), now.get(name)];
    if (!from) throw needsRestart(`add the node \`${name}\``);
    if (!to) throw needsRestart(`remove the node \`${name}\``);
    if (from.role !== to.role) throw needsRestart(`change the \`role\` of \`${name}\``, to);
  }
}

/** @throws UserError when the nodes differ, or in what stays while a node runs */
export function refuseFixed(before: readonly LoadedNode[], after: readonly LoadedNode[]): void {
  refuseOtherNodes(before, after);
  const now = new Map(after.map(named));
  // What a node says itself explains more than what another one makes of it.
  for (const fixedOf of [ownOptions, derivedOptions]) {
    for (const from of before) refuseDifferences(from.name, fixedOf(from), now.get(from.name)!, fixedOf);
  }
}

/** @throws UserError when the registry differs in more than the keys of nodes: this process is connected to it */
export function refuseOtherRegistry(before: LoadedRegistry | undefined, after: LoadedRegistry | undefined): void {
  const fixed = (registry: LoadedRegistry | undefined): string =>
    canonicalText(registry && { ...registry.options, nodes: undefined });
  if (fixed(before) !== fixed(after)) throw needsRestart('change the `registry`');
}

function refuseDifferences(name: string, fixed: Fixed, to: LoadedNode, fixedOf: (node: LoadedNode) => Fixed): void {
  const wanted = fixedOf(to);
  for (const option of new Set([...fixed.keys(), ...wanted.keys()])) {
    if (canonicalText(fixed.get(option)) !== canonicalText(wanted.get(option)))
      throw needsRestart(`change \`${option}\` of \`${name}\``, to, option);
  }
}

const named = (node: LoadedNode): [string, LoadedNode] => [node.name, node];

function needsRestart(what: string, node?: LoadedNode, option?: string): UserError {
  return new UserError('RELOAD_NEEDS_RESTART', `a reload cannot ${what}`, {
    hint: 'restart the node, or take this change back',
    ...(node && option !== undefined && { place: node.place(option.split('.')) }),
  });
}

function ownOptions(loaded: LoadedNode): Fixed {
  const options = [...optionsOf(loaded)];
  switch (loaded.role) {
    case 'gateway':
    case 'edge':
      return new Map(options.filter(isFixed));
    case 'backend':
      // Clients know the address of a backend from its gateway.
      return new Map([...options.filter(isFixed), ['listen', loaded.node.listen]]);
    case 'tunnel':
      return new Map(options);
  }
}

/** What other nodes of the file say about this one, or parts of its routes */
function derivedOptions(loaded: LoadedNode): Fixed {
  switch (loaded.role) {
    case 'gateway':
      return fixedOfGateway(loaded);
    case 'backend':
      return new Map([['primary', loaded.primary]]);
    case 'edge':
    case 'tunnel': {
      const { node } = loaded.gateway ?? {};
      return new Map([['gateway', node && { listen: node.listen, public_url: node.public_url, tls: node.tls }]]);
    }
  }
}

const isFixed = ([option]: [string, unknown]): boolean => !changeableOptions.includes(option);

/** The parts of routes that connections and channels were opened for */
function fixedOfGateway({ node, backends }: Extract<LoadedNode, { role: 'gateway' }>): Fixed {
  const fixed: Fixed = new Map<string, unknown>([
    ['backends', backends],
    ['routes', { carried: node.routes.filter(({ media }) => media?.channel !== undefined) }],
  ]);
  // The link between machines leads to the sockets of the node.
  if (node.forward) fixed.set('listen', node.listen);
  if (backends.length === 0) return fixed;
  const returning = backends.filter(({ name }) => returnsBy(node.routes, name));
  // Backends send from the address of the gateway, and have links for it.
  return fixed.set('listen', node.listen).set('routes', [fixed.get('routes'), returning.map(({ name }) => name)]);
}
