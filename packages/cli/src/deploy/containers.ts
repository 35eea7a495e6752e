import { basename } from 'node:path';
import { filesOfNode, formatAddress, isWildcard, type LoadedNode, type NodeFile } from '@sheaf/gateway';
import type { GeneratedFile } from './deployment.js';

/** User and group of the process in a container. Numbers need no name in the image, and this one belongs to nobody. */
export const containerUser = 65_532;

/** The configuration in a container */
export const configurationPath = '/etc/sheaf/sheaf.yaml';

/** Returns where a container finds the files that a node serves, runs or writes. */
export function contentPlace({ id, kind, path }: NodeFile): string {
  // In memory, and gone with the container: the registry has it again.
  if (kind === 'state') return `/tmp/${id}`;
  return kind === 'module' ? `${contentDirectory(id)}/${basename(path)}` : contentDirectory(id);
}

/** The directory in a container that has a directory to serve, or a module with what it imports */
export const contentDirectory = (id: string): string => `/srv/sheaf/${id}`;

/** Certificates, keys, secrets: root of the machine reads them, and the node gets copies or mounts that nobody else can read. */
export const isCredential = ({ kind }: NodeFile): boolean => kind === 'certificate' || kind === 'secret';

/** Returns the files of a node that root of the machine gives it. */
export const lentFiles = (node: LoadedNode): NodeFile[] => filesOfNode(node).filter(isCredential);

/** Returns the directories and modules of a node. */
export const contentFiles = (node: LoadedNode): NodeFile[] =>
  filesOfNode(node).filter(({ kind }) => kind === 'directory' || kind === 'module');

/** Returns where the node itself reaches its `admin`, which `refuseUnfit` asks for. */
export function adminOf({ node: { admin } }: LoadedNode): { address: string; port: number; isOpen: boolean } {
  if (!admin) throw new Error('the node has no admin address');
  const isOpen = isWildcard(admin.address);
  return { address: isOpen ? '127.0.0.1' : admin.address, port: admin.port, isOpen };
}

/** Returns the arguments of `sheaf` that check the health of a node. */
export function healthArguments(node: LoadedNode): string[] {
  return ['healthcheck', '--admin', formatAddress(adminOf(node))];
}

/** Returns what keeps keys out of images and out of repositories. */
export const ignoredFiles = (): GeneratedFile[] => [
  // The image is made of the packages alone.
  { path: '.dockerignore', text: '*\n!packages\n' },
  { path: '.gitignore', text: 'secrets/\npackages/\nnats/\n' },
];
