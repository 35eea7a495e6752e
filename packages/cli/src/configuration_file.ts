import { relative, resolve } from 'node:path';
import { closest, UserError, type LoadedConfiguration, type LoadedNode } from '@sheaf/gateway';

/** Returns the path for error messages. It is valid in the directory of this process. */
export function shownPath(file: string, cwd: string): string {
  const absolute = resolve(cwd, file);
  const short = relative(process.cwd(), absolute) || '.';
  return short.startsWith('..') ? absolute : short;
}

/** Returns the named node. @throws UserError */
export function nodeOf({ nodes }: LoadedConfiguration, name: string, file: string): LoadedNode {
  const node = nodes.find((candidate) => candidate.name === name);
  if (node) return node;
  const names = nodes.map((candidate) => candidate.name);
  const meant = closest(name, names);
  const known =
    names.length === 1
      ? `its only node is \`${names.join()}\``
      : `its nodes: ${names.map((item) => `\`${item}\``).join(', ')}`;
  throw new UserError('NODE_UNKNOWN', `${file} has no node \`${name}\``, {
    hint: meant === undefined || names.length === 1 ? known : `did you mean \`${meant}\`?`,
  });
}
