import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readFrames } from '@sheaf/native';
import { maxFiles, readHead } from './file_head.js';

/** A file of which some bytes are still to come */
interface OpenFile {
  handle: FileHandle;
  rest: number;
}

/**
 * Writes the files of a published directory below `directory`, which is new and nobody else's: all that is in it was written
 * here, so no link leads out of it. @throws RangeError for bytes that no publisher writes, and errors of the system
 */
export async function unpackFiles(bytes: AsyncIterable<Buffer>, directory: string): Promise<void> {
  let file: OpenFile | undefined;
  let files = 0;
  try {
    for await (const frame of readFrames(bytes)) {
      if (file) await append(file, frame);
      else {
        files += 1;
        if (files > maxFiles) throw new RangeError(`there are more than ${maxFiles} files`);
        file = await begin(frame, directory);
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

async function begin(frame: Buffer, directory: string): Promise<OpenFile> {
  const head = readHead(frame);
  const path = join(directory, head.path);
  await mkdir(dirname(path), { recursive: true });
  // `wx` refuses a path that was there before.
  return { handle: await open(path, 'wx', head.executable ? 0o777 : 0o666), rest: head.bytes };
}

async function append(file: OpenFile, frame: Buffer): Promise<void> {
  if (frame.length > file.rest) throw new RangeError('a file has more bytes than its head says');
  await file.handle.writeFile(frame);
  file.rest -= frame.length;
}
