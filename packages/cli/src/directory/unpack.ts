import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { systemErrorCode } from '@sheaf/gateway/client';
import { readFrames } from '@sheaf/native';
import { maxEntries, readHead, type FileHead } from './file_head.js';

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
        entries += 1 + (await makeDirectories(directory, head.path));
        if (entries > mostEntries) throw new RangeError(`there are more than ${mostEntries} files and directories`);
        file = { handle: await openNew(directory, head), rest: head.bytes };
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

/** Makes the directories that a file is in. Returns how many were not there; a path bounds them. */
async function makeDirectories(directory: string, file: string): Promise<number> {
  const path = dirname(join(directory, file));
  const first = await mkdir(path, { recursive: true }).catch((error: unknown) => {
    throw asRefusal(error, file);
  });
  return first === undefined ? 0 : relative(dirname(first), path).split(sep).length;
}

/** Opens a file that is not there yet: `wx` refuses a path that was there before. */
async function openNew(directory: string, { path, executable }: FileHead): Promise<FileHandle> {
  return open(join(directory, path), 'wx', executable ? 0o777 : 0o666).catch((error: unknown) => {
    throw asRefusal(error, path);
  });
}

/** What a publication that names a path twice, or a file as a directory, causes in a directory of its own */
const conflicts = ['EEXIST', 'EISDIR', 'ENOTDIR'];

const asRefusal = (error: unknown, path: string): unknown =>
  conflicts.includes(systemErrorCode(error) ?? '') ? new RangeError(`${path} is there twice`) : error;

async function append(file: OpenFile, frame: Buffer): Promise<void> {
  if (frame.length > file.rest) throw new RangeError('a file has more bytes than its head says');
  await file.handle.writeFile(frame);
  file.rest -= frame.length;
}
