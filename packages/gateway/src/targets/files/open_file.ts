import { constants, type Stats } from 'node:fs';
import { open, readlink, type FileHandle } from 'node:fs/promises';
import { sep } from 'node:path';
import { systemErrorCode } from '../../errors/user_error.js';

/** A file that is open for reading. Whoever gets it closes it. */
export interface OpenFile {
  handle: FileHandle;
  stats: Stats;
}

/** A pipe or a terminal must not hold the request up, or take the process over. */
const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** What `open` says where there is no file to serve: names that do not exist, loops of links, sockets. */
const absent = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ENXIO']);

/**
 * Opens a file that lies inside of `root` (a real path) once links are resolved. The decision is about what was opened,
 * not about a name that may lead elsewhere a moment later. Undefined when there is no such file there.
 */
export async function openInside(root: string, path: string): Promise<OpenFile | 'directory' | undefined> {
  const handle = await open(path, flags).catch((error: unknown) => {
    if (absent.has(systemErrorCode(error) ?? '')) return undefined;
    throw error;
  });
  if (!handle) return undefined;
  try {
    const stats = await handle.stat();
    const inside = isInside(root, await readlink(`/proc/self/fd/${handle.fd}`));
    if (inside && stats.isFile()) return { handle, stats };
    await handle.close();
    return inside && stats.isDirectory() ? 'directory' : undefined;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
