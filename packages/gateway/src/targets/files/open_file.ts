import { constants, type Stats } from 'node:fs';
import { open, readlink, type FileHandle } from 'node:fs/promises';
import { sep } from 'node:path';
import { systemErrorCode } from '../../errors/user_error.js';

/** A file that is open for reading. The caller closes it. */
export interface OpenFile {
  handle: FileHandle;
  stats: Stats;
}

/** Keeps a pipe from blocking the request, and a terminal from becoming the controlling terminal. */
const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Errors of `open` when there is no file to serve: names that do not exist, loops of links, sockets */
const absent = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ENXIO']);

/**
 * Opens a file that lies inside of `root` (a real path) once links are resolved. The check applies to the opened file,
 * since its name may lead elsewhere a moment later. Returns undefined when there is no such file.
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
