import { resolve } from 'node:path';
import { keySource, type LoadedRegistry } from '../schema/loaded.js';
import type { RegistryOptions } from '../schema/registry.js';
import type { Diagnostic } from '../values/diagnostic.js';
import type { ConfigurationDocument } from '../values/document.js';
import type { ParsedNode } from './parsed_node.js';

/** Keys that say something to servers of NATS alone */
const natsKeys = ['credentials', 'tls', 'replicas'] as const;

/** Returns the faults of a registry whose values are valid alone. */
export function checkRegistry(
  options: RegistryOptions,
  nodes: readonly ParsedNode[],
  document: ConfigurationDocument,
): Diagnostic[] {
  const conflict = (keys: readonly string[], message: string, hint: string): Diagnostic => ({
    code: 'CONFIG_CONFLICT',
    message,
    range: document.locateKey(['registry', ...keys]),
    hint,
  });
  const faults: Diagnostic[] = [];
  if (options.nats && options.file !== undefined)
    faults.push(conflict(['file'], 'a registry is a directory or servers of NATS', 'remove `file` or `nats`'));
  if (!options.nats)
    for (const key of natsKeys)
      if (options[key] !== undefined)
        faults.push(
          conflict([key], `\`${key}\` is for servers of NATS`, 'add `nats: [nats://10.0.0.1:4222]`, or remove it'),
        );
  if ((options.tls?.cert === undefined) !== (options.tls?.key === undefined))
    faults.push(
      conflict(['tls'], 'a certificate and its key belong together', 'name both `cert` and `key`, or neither'),
    );
  for (const { name } of nodes)
    if (Object.hasOwn(options.nodes, name))
      faults.push(
        conflict(
          ['nodes', name],
          `\`${name}\` is a node of this file`,
          'write its `public_key` there, and remove it here',
        ),
      );
  return faults;
}

/** Makes paths absolute, and gathers the keys that the file names. */
export function loadRegistry(
  options: RegistryOptions,
  nodes: readonly ParsedNode[],
  directory: string,
): LoadedRegistry {
  const absolute = <Path extends string | undefined>(path: Path): Path =>
    (path === undefined ? path : resolve(directory, path)) as Path;
  const { tls } = options;
  return {
    options: {
      ...options,
      file: options.nats ? undefined : resolve(directory, options.file ?? '.sheaf/registry'),
      credentials: absolute(options.credentials),
      ...(tls && { tls: { ca: absolute(tls.ca), cert: absolute(tls.cert), key: absolute(tls.key) } }),
    },
    known: new Map([...Object.entries(options.nodes), ...nodes.flatMap((node) => keysIn(node, directory))]),
  };
}

/** Returns the keys that a node of the file has or names. */
function keysIn(
  parsed: ParsedNode,
  directory: string,
): [string, ReturnType<LoadedRegistry['known']['get']> & object][] {
  switch (parsed.role) {
    case 'gateway':
      return [
        ...(parsed.node.backends ?? []).flatMap(({ name, public_key: key }): [string, typeof key & object][] =>
          key ? [[name, key]] : [],
        ),
        [parsed.name, keySource(parsed, directory)],
      ];
    case 'backend': {
      const { primary } = parsed.node;
      return [
        ...(typeof primary === 'string'
          ? []
          : [[primary.name, primary.public_key] as [string, typeof primary.public_key]]),
        [parsed.name, keySource(parsed, directory)],
      ];
    }
    case 'edge':
    case 'tunnel':
      return [];
  }
}
