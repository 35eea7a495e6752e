import { relative, resolve } from 'node:path';
import { closest, UserError, type LoadedConfiguration, type LoadedNode } from '@sheaf/gateway';

/** The path as errors should name it; it works from this process's directory. */
export function shownPath(file: string, cwd: string): string {
  const absolute = resolve(cwd, file);
  const short = relative(process.cwd(), absolute) || '.';
  return short.startsWith('..') ? absolute : short;
}

/** @throws UserError */
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
