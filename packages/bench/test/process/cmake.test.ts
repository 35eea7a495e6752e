import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildWithCmake } from '../../src/process/cmake.js';

/** A project whose only target cannot be built twice at a time */
const project = `cmake_minimum_required(VERSION 3.18)
project(turns LANGUAGES NONE)
add_custom_target(alone
  COMMAND mkdir busy
  COMMAND sleep 0.3
  COMMAND rmdir busy)
`;

test('builds in one directory take turns', async () => {
  const source = await mkdtemp(join(tmpdir(), 'sheaf-cmake-'));
  onTestFinished(() => rm(source, { recursive: true, force: true }));
  await writeFile(join(source, 'CMakeLists.txt'), project);
  const builds = [1, 2, 3].map(() => buildWithCmake(source, join(source, 'build'), [], 'alone'));
  expect((await Promise.allSettled(builds)).map(({ status }) => status)).toEqual(builds.map(() => 'fulfilled'));
});
