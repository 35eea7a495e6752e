import type { LoadedNode } from '@sheaf/gateway';

/** A text to write, at a path relative to the directory of the output */
export interface GeneratedFile {
  path: string;
  text: string;
}

/** What a generator makes of one node */
export interface Deployment {
  files: readonly GeneratedFile[];
  /** What the user does next, a line each: commands, and comments that begin with `#` */
  next: readonly string[];
}

/** What generators read: values alone, no files */
export interface DeploymentSource {
  node: LoadedNode;
  /** The configuration file, and its name for errors */
  text: string;
  file: string;
}

/** Time in milliseconds that a node gets beyond `limits.drain`, to close connections and to write its log */
const closingMs = 15_000;

/** Seconds from the signal to stop until a node has certainly ended. */
export function stopSeconds({ node }: LoadedNode): number {
  const drainMs = 'drain' in node.limits ? node.limits.drain : 0;
  return Math.ceil((drainMs + closingMs) / 1_000);
}

/** Ports of a node where clients connect; those of a tunnel node are for programs of its own machine. */
export function clientPorts({ node }: LoadedNode): { port: number; protocols: readonly ('TCP' | 'UDP')[] }[] {
  return [
    ...('listen' in node ? [{ port: node.listen.port, protocols: ['TCP', 'UDP'] as const }] : []),
    ...('http' in node && node.http ? [{ port: node.http.port, protocols: ['TCP'] as const }] : []),
    ...('backbone' in node && node.backbone ? [{ port: node.backbone.port, protocols: ['UDP'] as const }] : []),
  ];
}

/** The lowest port below 1024, which the system reserves; undefined when the node has none. */
export function reservedPort(node: LoadedNode): number | undefined {
  const ports = clientPorts(node)
    .map(({ port }) => port)
    .filter((port) => port < 1024);
  return ports.length === 0 ? undefined : Math.min(...ports);
}

/** Whether a backend sends from an address that its machine does not have, which Linux permits by a capability alone. */
export function sendsTransparently({ node }: LoadedNode): boolean {
  return 'return' in node && node.return?.via === 'transparent';
}

/** Whether a node could share secrets with others, and does not. */
export const lacksSecrets = (loaded: LoadedNode): boolean =>
  loaded.role !== 'tunnel' && loaded.node.secrets === undefined;
