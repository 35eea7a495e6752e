import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { UserError } from '@sheaf/gateway/client';
import { frameHeader } from '@sheaf/native';
import { unreadableInput } from '../unreadable_input.js';
import { maxFiles, type FileHead } from './file_head.js';
import { objectionTo } from './file_path.js';

/**
 * Returns the files below a directory as one stream of frames: for each file its head, and its bytes in any number of frames.
 * `shown` is the directory as the user wrote it. @throws UserError, before anything is sent, when it has something that cannot be sent
 */
export async function packDirectory(directory: string, shown: string): Promise<Readable> {
  const files: FileHead[] = [];
  await list(directory, '', files).catch((error: unknown) => {
    throw error instanceof UserError ? error : unreadableInput(shown, error);
  });
  if (files.length === 0)
    throw new UserError('USAGE', `${shown} has no files`, { hint: 'empty directories are not sent' });
  return Readable.from(pack(directory, files), { objectMode: false });
}

async function list(directory: string, below: string, files: FileHead[]): Promise<void> {
  const entries = await readdir(join(directory, below), { withFileTypes: true });
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    const objection = entry.isDirectory() || entry.isFile() ? objectionTo(path) : 'is neither a file nor a directory';
    if (objection !== undefined)
      throw new UserError('USAGE', `${JSON.stringify(path)} cannot be sent: it ${objection}`, {
        hint: 'publish a copy of the directory with plain files alone',
      });
    if (entry.isDirectory()) {
      await list(directory, path, files);
      continue;
    }
    const { size, mode } = await stat(join(directory, path));
    if (files.push({ path, bytes: size, executable: (mode & 0o100) !== 0 }) > maxFiles)
      throw new UserError('USAGE', `there are more than ${maxFiles} files`, { hint: 'publish an archive of them' });
  }
}

async function* pack(directory: string, files: readonly FileHead[]): AsyncGenerator<Buffer> {
  for (const head of files) {
    yield* frame(Buffer.from(JSON.stringify(head)));
    let bytes = 0;
    try {
      for await (const chunk of createReadStream(join(directory, head.path)) as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > head.bytes) break;
        yield* frame(chunk);
      }
    } catch (error) {
      throw unreadableInput(head.path, error);
    }
    if (bytes !== head.bytes)
      throw new UserError('USAGE', `${head.path} changed while it was sent`, { hint: 'publish a copy of it' });
  }
}

function* frame(bytes: Buffer): Generator<Buffer> {
  yield frameHeader(bytes.length);
  yield bytes;
}
