import { execFile } from 'node:child_process';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const home = join(import.meta.dirname, '..');

test('the package brings every source of the addon, and the laboratory is no part of either', async () => {
  const sources = (await run(process.execPath, ['addon_sources.mjs'], { cwd: home })).stdout.trim().split(' ');
  expect(sources).toContain('src/binding/addon.cc');
  expect(sources).toContain('src/emulation/link.cc');
  expect(sources.filter((file) => file.startsWith('src/sim/'))).toEqual([]);

  const { stdout } = await run('npm', ['pack', '--dry-run', '--json'], { cwd: home });
  const packed = (JSON.parse(stdout) as { files: { path: string }[] }[]).flatMap(({ files }) =>
    files.map(({ path }) => path),
  );
  expect(packed).toEqual(expect.arrayContaining([...sources, 'addon_sources.mjs', 'binding.gyp', 'layers.json']));
  expect(packed.filter((file) => file.startsWith('src/sim/'))).toEqual([]);
});

test('sources are together in the files that it names, and no other file is there', async () => {
  const directory = join(home, 'build', 'together');
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'connection_99.cc'), '#include "connection/no_more.cc"\n');
  const { stdout } = await run(process.execPath, ['addon_sources.mjs', '--together'], { cwd: home });
  const named = stdout.trim().split(' ');
  expect(named.map((file) => basename(file))).toEqual((await readdir(directory)).sort());
  const texts = await Promise.all(named.map((file) => readFile(join(home, file), 'utf8')));
  const together = [...texts.join('').matchAll(/^#include "(.*)"$/gm)].map(([, file]) => `src/${file}`);
  const { stdout: sources } = await run(process.execPath, ['addon_sources.mjs'], { cwd: home });
  expect(together.sort()).toEqual(sources.trim().split(' ').sort());
});
