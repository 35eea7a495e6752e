import type { EndReferenceOptions } from '../ends/options.js';
import type { Diagnostic } from './diagnostic.js';
import type { ConfigurationDocument, ValuePath } from './document.js';
import { closest } from './known_keys.js';
import type { ParsedNode } from './nodes.js';
import { isWildcard } from './scalars.js';

type ParsedGateway = Extract<ParsedNode, { role: 'gateway' }>;
type ParsedEnd = Extract<ParsedNode, { role: 'end' }>;

/** What is wrong between gateways and their ends. */
export function checkMultiEnd(nodes: readonly ParsedNode[], document: ConfigurationDocument): Diagnostic[] {
  return nodes.flatMap((node): Diagnostic[] => {
    switch (node.role) {
      case 'gateway':
        return checkGateway(node, new Place(node.at, document), nodes);
      case 'end':
        return checkEnd(node, new Place(node.at, document), nodes);
      case 'edge':
        return [];
    }
  });
}

/** Makes diagnostics of one node. */
class Place {
  constructor(
    readonly at: ValuePath,
    readonly document: ConfigurationDocument,
  ) {}

  conflict(path: ValuePath, message: string, hint: string): Diagnostic {
    return { code: 'CONFIG_CONFLICT', message, range: this.document.locateKey([...this.at, ...path]), hint };
  }

  value(path: ValuePath, message: string, hint: string): Diagnostic {
    return { code: 'CONFIG_VALUE', message, range: this.document.locateValue([...this.at, ...path]), hint };
  }
}

function checkGateway({ name, node }: ParsedGateway, place: Place, nodes: readonly ParsedNode[]): Diagnostic[] {
  const ends = node.ends ?? [];
  const faults = node.routes.flatMap((route, index) => (route.ends ?? []).flatMap((wanted, item) => checkRouteEnd(wanted, ['routes', index, 'ends', item], ends, place)));
  if (ends.length === 0) return faults;
  if (!node.backbone) faults.push(place.conflict(['ends'], 'ends are reached over the backbone, and this gateway has none', 'add `backbone: 127.0.0.1:4533`, or an address that the ends reach'));
  if (!node.alpn.includes('h3') || !node.multipath) faults.push(place.conflict(['ends'], 'ends need HTTP/3 and several paths', 'keep `h3` in `alpn`, and `multipath: true`'));
  return [...faults, ...checkNumbers(ends, place), ...ends.flatMap((end, index) => checkReference(end, ['ends', index], name, place, nodes))];
}

function checkRouteEnd(wanted: string, path: ValuePath, ends: readonly EndReferenceOptions[], place: Place): Diagnostic[] {
  const names = ends.map(({ name }) => name);
  if (names.includes(wanted)) return [];
  const meant = closest(wanted, names);
  const known = names.length === 0 ? 'name the nodes in `ends` of the gateway' : `its ends: ${names.map((name) => `\`${name}\``).join(', ')}`;
  return [place.value(path, `this gateway has no end \`${wanted}\``, meant === undefined ? known : `did you mean \`${meant}\`?`)];
}

function checkNumbers(ends: readonly EndReferenceOptions[], place: Place): Diagnostic[] {
  const numbers = endNumbers(ends);
  return ends.flatMap(({ name }, index): Diagnostic[] => {
    const path = ['ends', index];
    if (ends.findIndex((other) => other.name === name) < index) return [place.value(path, `the end \`${name}\` is there already`, 'remove one of them')];
    if (numbers.indexOf(numbers[index]!) < index) return [place.value(path, `the id ${numbers[index]} is that of another end`, 'give every end an `id` of its own, or none of them')];
    return [];
  });
}

/** The id of each: what it says, or its place. */
export function endNumbers(ends: readonly EndReferenceOptions[]): number[] {
  return ends.map(({ id }, index) => id ?? index);
}

function checkReference(end: EndReferenceOptions, path: ValuePath, gateway: string, place: Place, nodes: readonly ParsedNode[]): Diagnostic[] {
  const node = nodes.find(({ name }) => name === end.name);
  if (!node) return checkForeign(end, path, place, nodes);
  if (node.role !== 'end') return [place.value(path, `\`${end.name}\` is not an end`, 'an end has `role: end`')];
  const { primary } = node.node;
  if (typeof primary === 'string' && primary !== gateway) return [place.value(path, `the end \`${end.name}\` belongs to the gateway \`${primary}\``, 'an end has one gateway: its `primary`')];
  if (end.backbone ?? end.public_key) return [place.conflict(path, `\`${end.name}\` is a node of this file, which says these things itself`, 'remove `backbone` and `public_key`')];
  const { listen } = node.node;
  // For a client it is the client's own machine.
  if (end.address === undefined && isWildcard(listen.address)) {
    return [place.conflict(path, `\`${end.name}\` listens on every address, and clients need one to go to`, `write \`{ name: ${end.name}, address: "192.0.2.1:${listen.port}" }\` with the address that clients reach`)];
  }
  return [];
}

function checkForeign(end: EndReferenceOptions, path: ValuePath, place: Place, nodes: readonly ParsedNode[]): Diagnostic[] {
  const missing = (['address', 'backbone', 'public_key'] as const).filter((key) => end[key] === undefined);
  if (missing.length === 0) return [];
  if (missing.length < 3) return [place.value(path, `the end \`${end.name}\` lacks ${missing.map((key) => `\`${key}\``).join(' and ')}`, 'a node that is not in this file is described here')];
  const meant = closest(end.name, nodes.filter(({ role }) => role === 'end').map(({ name }) => name));
  return [place.value(path, `there is no end \`${end.name}\``, meant === undefined ? 'add a node with `role: end`, or write `{ name, address, backbone, public_key }`' : `did you mean \`${meant}\`?`)];
}

function checkEnd({ name, node }: ParsedEnd, place: Place, nodes: readonly ParsedNode[]): Diagnostic[] {
  const faults = node.routes.flatMap((route, index): Diagnostic[] =>
    route.ends === undefined ? [] : [place.conflict(['routes', index, 'ends'], 'an end answers requests itself', 'write what answers them: `files` or `upstream`')],
  );
  if (typeof node.primary !== 'string') return faults;
  const { primary } = node;
  const gateway = nodes.find((other) => other.name === primary);
  const gateways = nodes.filter(({ role }) => role === 'gateway').map((other) => other.name);
  const meant = closest(primary, gateways);
  if (!gateway) return [...faults, place.value(['primary'], `there is no gateway \`${primary}\``, meant === undefined ? 'for one of another file write `{ name, backbone, public_key }`' : `did you mean \`${meant}\`?`)];
  if (gateway.role !== 'gateway') return [...faults, place.value(['primary'], `\`${primary}\` is not a gateway`, 'the primary of an end is a gateway')];
  if (gateway.node.ends?.some((end) => end.name === name)) return faults;
  return [...faults, place.value(['primary'], `the gateway \`${primary}\` does not have the end \`${name}\``, `add it there: \`ends: [${name}]\``)];
}
