import type { BackendReferenceOptions } from '../schema/backends.js';
import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument, ValuePath } from '../values/document.js';
import { closest } from '../values/known_keys.js';
import type { ParsedNode } from './parsed_node.js';
import { isWildcard } from '../values/scalars.js';

type ParsedGateway = Extract<ParsedNode, { role: 'gateway' }>;
type ParsedBackend = Extract<ParsedNode, { role: 'backend' }>;

/** Returns the faults between gateways and their backends. */
export function checkMultiEnd(
  nodes: readonly ParsedNode[],
  hasRegistry: boolean,
  document: ConfigurationDocument,
): Diagnostic[] {
  return nodes.flatMap((node): Diagnostic[] => {
    switch (node.role) {
      case 'gateway':
        return checkGateway(node, new Place(node.at, hasRegistry, document), nodes);
      case 'backend':
        return checkBackend(node, new Place(node.at, hasRegistry, document), nodes);
      case 'edge':
      case 'tunnel':
        return [];
    }
  });
}

/** Makes diagnostics for one node. */
class Place {
  constructor(
    readonly at: ValuePath,
    readonly hasRegistry: boolean,
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
  const backends = node.backends ?? [];
  const faults = node.routes.flatMap((route, index) =>
    (route.backends ?? []).flatMap((wanted, item) =>
      checkRouteBackend(wanted, ['routes', index, 'backends', item], backends, place),
    ),
  );
  if (backends.length === 0) return faults;
  if (!node.backbone)
    faults.push(
      place.conflict(
        ['backends'],
        'backends are reached over the backbone, and this gateway has none',
        'add `backbone: 127.0.0.1:4533`, or an address that the backends reach',
      ),
    );
  if (!node.alpn.includes('h3') || !node.multipath)
    faults.push(
      place.conflict(
        ['backends'],
        'backends need HTTP/3 and several paths',
        'keep `h3` in `alpn`, and `multipath: true`',
      ),
    );
  return [
    ...faults,
    ...checkNumbers(backends, place),
    ...backends.flatMap((backend, index) => checkReference(backend, ['backends', index], name, place, nodes)),
  ];
}

function checkRouteBackend(
  wanted: string,
  path: ValuePath,
  backends: readonly BackendReferenceOptions[],
  place: Place,
): Diagnostic[] {
  const names = backends.map(({ name }) => name);
  if (names.includes(wanted)) return [];
  const meant = closest(wanted, names);
  const known =
    names.length === 0
      ? 'name the nodes in `backends` of the gateway'
      : `its backends: ${names.map((name) => `\`${name}\``).join(', ')}`;
  return [
    place.value(
      path,
      `this gateway has no backend \`${wanted}\``,
      meant === undefined ? known : `did you mean \`${meant}\`?`,
    ),
  ];
}

function checkNumbers(backends: readonly BackendReferenceOptions[], place: Place): Diagnostic[] {
  const numbers = backendNumbers(backends);
  return backends.flatMap(({ name }, index): Diagnostic[] => {
    const path = ['backends', index];
    if (backends.findIndex((other) => other.name === name) < index)
      return [place.value(path, `the backend \`${name}\` is there already`, 'remove one of them')];
    if (numbers.indexOf(numbers[index]!) < index)
      return [
        place.value(
          path,
          `the id ${numbers[index]} is that of another backend`,
          'give every backend an `id` of its own, or none of them',
        ),
      ];
    return [];
  });
}

/** Returns the id of each backend: the configured one, or its index in the list. */
export function backendNumbers(backends: readonly BackendReferenceOptions[]): number[] {
  return backends.map(({ id }, index) => id ?? index);
}

function checkReference(
  backend: BackendReferenceOptions,
  path: ValuePath,
  gateway: string,
  place: Place,
  nodes: readonly ParsedNode[],
): Diagnostic[] {
  const node = nodes.find(({ name }) => name === backend.name);
  if (!node) return checkForeign(backend, path, place, nodes);
  if (node.role !== 'backend')
    return [place.value(path, `\`${backend.name}\` is not a backend`, 'a backend has `role: backend`')];
  const { primary } = node.node;
  if (typeof primary === 'string' && primary !== gateway)
    return [
      place.value(
        path,
        `the backend \`${backend.name}\` belongs to the gateway \`${primary}\``,
        'a backend has one gateway: its `primary`',
      ),
    ];
  if (backend.backbone ?? backend.public_key)
    return [
      place.conflict(
        path,
        `\`${backend.name}\` is a node of this file and has these keys of its own`,
        'remove `backbone` and `public_key`',
      ),
    ];
  const { listen } = node.node;
  // To a client, a wildcard address would mean the client's own machine.
  if (backend.address === undefined && isWildcard(listen.address)) {
    return [
      place.conflict(
        path,
        `\`${backend.name}\` listens on every address, but clients need one address`,
        `write \`{ name: ${backend.name}, address: "192.0.2.1:${listen.port}" }\` with the address that clients reach`,
      ),
    ];
  }
  return [];
}

function checkForeign(
  backend: BackendReferenceOptions,
  path: ValuePath,
  place: Place,
  nodes: readonly ParsedNode[],
): Diagnostic[] {
  const missing = (['address', 'backbone', 'public_key'] as const).filter((key) => backend[key] === undefined);
  if (missing.length === 0 || (place.hasRegistry && backend.public_key)) return [];
  if (missing.length < 3)
    return [
      place.value(
        path,
        `the backend \`${backend.name}\` lacks ${missing.map((key) => `\`${key}\``).join(' and ')}`,
        'write these keys only for a node of another file',
      ),
    ];
  const meant = closest(
    backend.name,
    nodes.filter(({ role }) => role === 'backend').map(({ name }) => name),
  );
  return [
    place.value(
      path,
      `there is no backend \`${backend.name}\``,
      meant === undefined
        ? 'add a node with `role: backend`, or write `{ name, address, backbone, public_key }`'
        : `did you mean \`${meant}\`?`,
    ),
  ];
}

function checkBackend({ name, node }: ParsedBackend, place: Place, nodes: readonly ParsedNode[]): Diagnostic[] {
  const faults = node.routes.flatMap((route, index): Diagnostic[] =>
    route.backends === undefined
      ? []
      : [
          place.conflict(
            ['routes', index, 'backends'],
            'a backend answers requests itself',
            'write their target: `files` or `upstream`',
          ),
        ],
  );
  if (typeof node.primary !== 'string')
    return node.primary.backbone || place.hasRegistry
      ? faults
      : [
          ...faults,
          place.value(
            ['primary'],
            `the address of the gateway \`${node.primary.name}\` is missing`,
            'add its `backbone`, or a `registry` that both nodes use',
          ),
        ];
  const { primary } = node;
  const gateway = nodes.find((other) => other.name === primary);
  const gateways = nodes.filter(({ role }) => role === 'gateway').map((other) => other.name);
  const meant = closest(primary, gateways);
  if (!gateway)
    return [
      ...faults,
      place.value(
        ['primary'],
        `there is no gateway \`${primary}\``,
        meant === undefined
          ? 'for one of another file write `{ name, backbone, public_key }`'
          : `did you mean \`${meant}\`?`,
      ),
    ];
  if (gateway.role !== 'gateway')
    return [
      ...faults,
      place.value(['primary'], `\`${primary}\` is not a gateway`, 'the primary of a backend is a gateway'),
    ];
  if (gateway.node.backends?.some((backend) => backend.name === name)) return faults;
  return [
    ...faults,
    place.value(
      ['primary'],
      `the gateway \`${primary}\` does not have the backend \`${name}\``,
      `add it there: \`backends: [${name}]\``,
    ),
  ];
}
