import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { chmod, chown, rename, rm, writeFile } from 'node:fs/promises';

/**
 * Replaces a file by one that nobody sees before it is complete, with the owner and mode of the one before, if that is given. Only
 * its owner can read a new one.
 */
export async function replaceFile(file: string, text: string, before?: Stats): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    // The owner, who is another user when root renews the file, reads it as before.
    if (before && process.getuid?.() === 0) await chown(draft, before.uid, before.gid);
    if (before) await chmod(draft, before.mode & 0o7777);
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}
