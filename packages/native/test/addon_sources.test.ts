import { execFile } from 'node:child_process';
import { join } from 'node:path';
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
