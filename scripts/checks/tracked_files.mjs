import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Returns path and text of each file that git tracks, or would add, whose path matches `wanted` and not `leftOut`. */
export function readTracked(root, wanted, leftOut = /(?!)/) {
  const names = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  return names
    .split('\0')
    .filter((path) => wanted.test(path) && !leftOut.test(path))
    .filter((path) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile())
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}
