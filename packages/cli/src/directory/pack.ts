import { constants } from 'node:fs';
import { lstat, open, readdir, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { systemErrorCode, UserError } from '@sheaf/gateway/client';
import { frameHeader } from '@sheaf/native';
import { unreadableInput } from '../unreadable_input.js';
import { maxEntries, type FileHead } from './file_head.js';
import { objectionTo } from './file_path.js';

/** What is sent of a directory */
interface Listing {
  files: FileHead[];
  /** Files, and directories that have some below them */
  entries: number;
}

/**
 * Returns the files below a directory as one stream of frames: for each file its head, and its bytes in any number of frames.
 * `shown` is the directory as the user wrote it. @throws UserError, before anything is sent, when it has something that cannot be sent
 */
export async function packDirectory(directory: string, shown: string, mostEntries = maxEntries): Promise<Readable> {
  const listing: Listing = { files: [], entries: 0 };
  try {
    const root = await realpath(directory);
    await list(root, '', listing, mostEntries);
    if (listing.files.length > 0) return Readable.from(pack(root, listing.files), { objectMode: false });
  } catch (error) {
    throw error instanceof UserError ? error : unreadableInput(shown, error);
  }
  throw new UserError('USAGE', `${shown} has no files`, { hint: 'empty directories are not sent' });
}

async function list(root: string, below: string, listing: Listing, mostEntries: number): Promise<void> {
  const entries = await readdir(join(root, below), { withFileTypes: true });
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    const objection = entry.isDirectory() || entry.isFile() ? objectionTo(path) : 'is neither a file nor a directory';
    if (objection !== undefined)
      throw new UserError('USAGE', `${JSON.stringify(path)} cannot be sent: it ${objection}`, {
        hint: 'publish a copy of the directory with plain files alone',
      });
    const filesBefore = listing.files.length;
    if (entry.isDirectory()) await list(root, path, listing, mostEntries);
    else {
      const { size, mode } = await lstat(join(root, path));
      listing.files.push({ path, bytes: size, executable: (mode & 0o100) !== 0 });
    }
    if (listing.files.length > filesBefore) listing.entries += 1;
    if (listing.entries > mostEntries)
      throw new UserError('USAGE', `there are more than ${mostEntries} files and directories`, {
        hint: 'publish an archive of them',
      });
  }
}

async function* pack(root: string, files: readonly FileHead[]): AsyncGenerator<Buffer> {
  for (const head of files) {
    const handle = await openListed(root, head.path).catch((error: unknown) => {
      throw systemErrorCode(error) === 'ELOOP' ? changed(head) : unreadableInput(head.path, error);
    });
    if (!handle) throw changed(head);
    let bytes = 0;
    try {
      yield* frame(Buffer.from(JSON.stringify(head)));
      for await (const chunk of handle.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > head.bytes) break;
        yield* frame(chunk);
      }
    } catch (error) {
      throw unreadableInput(head.path, error);
    } finally {
      await handle.close();
    }
    if (bytes !== head.bytes) throw changed(head);
  }
}

const changed = ({ path }: FileHead): UserError =>
  new UserError('USAGE', `${path} changed while it was sent`, { hint: 'publish a copy of it' });

/** Refuses a link, and keeps a pipe from blocking and a terminal from becoming the controlling one. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Opens a listed file. Undefined when it is none any more, or when a directory on the way has become a link: the checks apply to what
 * was opened, since its name may lead elsewhere a moment later.
 */
async function openListed(root: string, path: string): Promise<FileHandle | undefined> {
  const place = join(root, path);
  const handle = await open(place, flags);
  try {
    if ((await handle.stat()).isFile() && (await readlink(`/proc/self/fd/${handle.fd}`)) === place) return handle;
    await handle.close();
    return undefined;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function* frame(bytes: Buffer): Generator<Buffer> {
  yield frameHeader(bytes.length);
  yield bytes;
}
