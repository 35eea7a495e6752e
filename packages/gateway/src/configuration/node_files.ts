import type { LoadedNode } from '../schema/loaded.js';
import { tunnelKeys, type RouteOptions } from '../schema/routes.js';
import { isBuiltIn } from '../targets/webtransport/built_in.js';
import { ConfigurationDocument, type ValuePath } from '../values/document.js';
import { UserError } from '../errors/user_error.js';
import { optionName } from './issues.js';
import { parseConfiguration } from './load.js';

/** What a node does with a file that its configuration names; a `state` is one that it writes, and reads again */
export type NodeFileKind = 'certificate' | 'secret' | 'state' | 'directory' | 'module' | 'log' | 'qlog';

/** A file or directory that the configuration of a node names */
export interface NodeFile {
  /** Place of the name among the keys of the node; the short form of an option has the name itself at the parent */
  at: ValuePath;
  /** Whether `at` begins at the top of the file, since all nodes of it share the name */
  shared: boolean;
  /** Absolute */
  path: string;
  kind: NodeFileKind;
  /** Name of the file that no other one of the node has, made of its place, such as `tls-key` */
  id: string;
}

/** Returns the files of a node in the order of its keys, and those of the file's registry. */
export function filesOfNode({ node, registry }: LoadedNode): NodeFile[] {
  const found: NodeFile[] = [];
  const add = (kind: NodeFileKind, at: ValuePath, path: string | undefined, shared = false): void => {
    if (path !== undefined) found.push({ at, path, kind, id: at.join('-'), shared });
  };
  if ('tls' in node && node.tls !== 'dev') {
    add('certificate', ['tls', 'cert'], node.tls.cert);
    add('secret', ['tls', 'key'], node.tls.key);
  }
  // An operator sends secrets by the registry.
  if ('secrets' in node) add(registry?.options.operator ? 'state' : 'secret', ['secrets'], node.secrets);
  if ('key' in node && node.key !== 'dev') add('secret', ['key', 'file'], node.key.file);
  if ('user' in node && node.user && 'file' in node.user) add('secret', ['user', 'file'], node.user.file);
  if ('gateway' in node && typeof node.gateway === 'object' && typeof node.gateway.certificate === 'object')
    add('certificate', ['gateway', 'certificate', 'ca'], node.gateway.certificate.ca);
  if ('channels' in node)
    for (const [name, { key }] of Object.entries(node.channels)) add('secret', ['channels', name, 'key'], key);
  if ('routes' in node)
    node.routes.forEach((route, index) =>
      addFilesOfRoute(route, (kind, at, path) => add(kind, ['routes', index, ...at], path)),
    );
  add('log', ['log', 'file'], node.log.file);
  add('qlog', ['qlog'], 'qlog' in node ? node.qlog : undefined);
  const { credentials, tls } = registry?.options ?? {};
  add('secret', ['registry', 'credentials'], credentials, true);
  add('certificate', ['registry', 'tls', 'ca'], tls?.ca, true);
  add('certificate', ['registry', 'tls', 'cert'], tls?.cert, true);
  add('secret', ['registry', 'tls', 'key'], tls?.key, true);
  return found;
}

function addFilesOfRoute(
  route: RouteOptions,
  add: (kind: NodeFileKind, at: ValuePath, path: string | undefined) => void,
): void {
  add('directory', ['files', 'root'], route.files?.root);
  const { ca, certificate } = route.upstream?.tls ?? {};
  add('certificate', ['upstream', 'tls', 'ca'], ca);
  add('certificate', ['upstream', 'tls', 'certificate', 'cert'], certificate?.cert);
  add('secret', ['upstream', 'tls', 'certificate', 'key'], certificate?.key);
  const { application } = route.webtransport ?? {};
  if (application !== undefined && !isBuiltIn(application)) add('module', ['webtransport', 'application'], application);
  for (const key of tunnelKeys) add('secret', [key, 'users'], route[key]?.users);
}

/**
 * Returns the text of a configuration in which the files of one node have the paths that `place` gives them. Comments and
 * layout stay, and other nodes keep their paths. `file` is the name of the text. @throws UserError when the text has faults, or
 * has a path in what an alias stands for, which other nodes may have, too
 */
export function moveFiles(text: string, file: string, name: string, place: (file: NodeFile) => string): string {
  const { nodes, named } = parseConfiguration(text, file);
  const node = nodes.find((candidate) => candidate.name === name);
  if (!node) throw new Error(`the node ${name} got lost`);
  const document = new ConfigurationDocument(file, text);
  const edits = filesOfNode(node).map((each) => {
    const at = writtenAt(document, [...(named && !each.shared ? ['nodes', name] : []), ...each.at]);
    if (!document.has(at))
      throw new UserError('DEPLOYMENT_UNFIT', `${optionName(each.at)} is in what an alias stands for`, {
        hint: 'write the values out in place of the alias',
        place: node.place(each.at, each.shared),
      });
    return { range: document.locateValue(at), path: place(each) };
  });
  // The last edit comes first, so that the places of the others stay.
  edits.sort((left, right) => right.range.start - left.range.start);
  let moved = text;
  for (const { range, path } of edits) {
    // The line break behind a block scalar belongs to it (YAML 1.2.2 §8.1).
    const end = moved.slice(range.start, range.end).endsWith('\n') ? '\n' : '';
    moved = moved.slice(0, range.start) + JSON.stringify(path) + end + moved.slice(range.end);
  }
  return moved;
}

/** Returns where the name itself is: the short form of an option has it one level higher. */
function writtenAt(document: ConfigurationDocument, path: ValuePath): ValuePath {
  const parent = path
    .slice(0, -1)
    .reduce<unknown>((holder, step) => (holder as Record<PropertyKey, unknown>)[step], document.value());
  return typeof parent === 'string' ? path.slice(0, -1) : path;
}
