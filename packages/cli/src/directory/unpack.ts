import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { readFrames } from '@sheaf/native';
import { maxEntries, readHead } from './file_head.js';

/** A file of which some bytes are still to come */
interface OpenFile {
  handle: FileHandle;
  rest: number;
}

/**
 * Writes the files of a published directory below `directory`, which is new and nobody else's: all that is in it was written
 * here, so no link leads out of it. @throws RangeError for bytes that no publisher writes, and errors of the system
 */
export async function unpackFiles(
  bytes: AsyncIterable<Buffer>,
  directory: string,
  mostEntries = maxEntries,
): Promise<void> {
  let file: OpenFile | undefined;
  let entries = 0;
  try {
    for await (const frame of readFrames(bytes)) {
      if (file) await append(file, frame);
      else {
        const head = readHead(frame);
        const path = join(directory, head.path);
        entries += 1 + (await makeDirectories(dirname(path)));
        if (entries > mostEntries) throw new RangeError(`there are more than ${mostEntries} files and directories`);
        // `wx` refuses a path that was there before.
        file = { handle: await open(path, 'wx', head.executable ? 0o777 : 0o666), rest: head.bytes };
      }
      if (file.rest > 0) continue;
      await file.handle.close();
      file = undefined;
    }
    if (file) throw new RangeError('the last file is not complete');
  } finally {
    await file?.handle.close();
  }
}

/** Makes a directory and those around it. Returns how many were not there; a path bounds them. */
async function makeDirectories(path: string): Promise<number> {
  const first = await mkdir(path, { recursive: true });
  return first === undefined ? 0 : relative(dirname(first), path).split(sep).length;
}

async function append(file: OpenFile, frame: Buffer): Promise<void> {
  if (frame.length > file.rest) throw new RangeError('a file has more bytes than its head says');
  await file.handle.writeFile(frame);
  file.rest -= frame.length;
}
