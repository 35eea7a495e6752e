// Archives of packages, as `npm install` takes them: everything is in the folder `package`.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Returns path and size of each file of a packed package. */
export function listArchive(archive) {
  const listing = execFileSync('tar', ['tvzf', archive], { encoding: 'utf8', maxBuffer: 1 << 26 });
  return listing
    .trim()
    .split('\n')
    .map((line) => {
      const [, size, path] = /^\S+\s+\S+\s+(\d+)\s+\S+\s+\S+\s+package\/(.*)$/.exec(line);
      return { path, size: Number(size) };
    })
    .filter(({ path }) => !path.endsWith('/'));
}

/** Writes files into a packed package: pairs of the path in it and the text or bytes. */
export function writeIntoArchive(archive, files) {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-archive-'));
  try {
    execFileSync('tar', ['xzf', archive, '-C', directory]);
    for (const [path, content] of files) {
      const file = join(directory, 'package', path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
    // The same packages give the same bytes.
    const stable = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
    execFileSync('tar', ['-I', 'gzip -n9', '-cf', archive, ...stable, '-C', directory, 'package']);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
