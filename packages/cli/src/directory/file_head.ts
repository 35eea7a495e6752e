import { objectionTo } from './file_path.js';

/** Maximum of files and directories in a publication */
export const maxEntries = 100_000;

/** Longest frame with the head of a file */
const maxHeadBytes = 4_096;

/** What stands before the bytes of a file in the publication of a directory, as JSON in a frame of its own */
export interface FileHead {
  /** Path below the directory, with `/` between names */
  path: string;
  bytes: number;
  /** Whether its owner may execute it */
  executable: boolean;
}

/** Reads the head of a file. @throws RangeError for one that no publisher writes, or whose path may lead elsewhere */
export function readHead(frame: Buffer): FileHead {
  const { path, bytes, executable } = parse(frame);
  if (typeof path !== 'string' || typeof executable !== 'boolean' || !Number.isSafeInteger(bytes) || Number(bytes) < 0)
    throw new RangeError('a file has no valid head');
  const objection = objectionTo(path);
  if (objection !== undefined) throw new RangeError(`the path ${JSON.stringify(path)} ${objection}`);
  return { path, bytes: Number(bytes), executable };
}

function parse(frame: Buffer): Partial<Record<keyof FileHead, unknown>> {
  try {
    const value = JSON.parse(frame.length > maxHeadBytes ? '' : frame.toString()) as unknown;
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
