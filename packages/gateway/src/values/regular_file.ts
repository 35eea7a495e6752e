import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Longest file of certificates, keys or passwords, in bytes */
const longestBytes = 1024 ** 2;

/**
 * Reads a file, unless it is longer than this, or none that has its bytes already, such as a pipe whose writer never comes. Resolves
 * with undefined then. `flags` are those of open(2), in addition to those for reading. @throws an error of the system
 */
export async function readIfRegular(file: string, maxBytes: number, flags = 0): Promise<Buffer | undefined> {
  // Without this flag, opening a pipe waits for a writer.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > maxBytes) return undefined;
    const value = Buffer.alloc(stats.size);
    const { bytesRead } = await handle.read(value, 0, value.length, 0);
    return value.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Reads a file of certificates, keys or passwords. @throws an error of the system, or one whose `code` says what else is wrong */
export async function readSmallFile(file: string): Promise<string> {
  const bytes = await readIfRegular(file, longestBytes);
  if (bytes) return bytes.toString('utf8');
  throw Object.assign(new Error(`${file} cannot be read`), {
    code: `no regular file of at most ${longestBytes} bytes`,
  });
}
