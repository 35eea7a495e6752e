import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { buildWithCmake } from '../../src/process/cmake.js';

/** A project whose only target cannot be built twice at a time */
const project = `cmake_minimum_required(VERSION 3.18)
project(turns LANGUAGES NONE)
add_custom_target(alone
  COMMAND mkdir busy
  COMMAND sleep 0.3
  COMMAND rmdir busy)
`;

async function projectWith(text: string): Promise<string> {
  const source = await mkdtemp(join(tmpdir(), 'sheaf-cmake-'));
  onTestFinished(() => rm(source, { recursive: true, force: true }));
  await writeFile(join(source, 'CMakeLists.txt'), text);
  return source;
}

test('builds in one directory take turns', async () => {
  const source = await projectWith(project);
  const builds = [1, 2, 3].map(() => buildWithCmake(source, join(source, 'build'), [], 'alone'));
  expect((await Promise.allSettled(builds)).map(({ status }) => status)).toEqual(builds.map(() => 'fulfilled'));
});

test('a build that fails shows why', async () => {
  const source = await projectWith(project.replace('sleep 0.3', 'sh -c "echo nothing works && false"'));
  const shown = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => shown.mockRestore());
  await expect(buildWithCmake(source, join(source, 'build'), [], 'alone')).rejects.toMatchObject({
    code: 'BENCH_FAILED',
  });
  expect(shown.mock.calls.join('')).toContain('nothing works');
});
