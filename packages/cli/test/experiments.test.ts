import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadExperiments } from '../src/experiments.js';
import { run } from '../src/run.js';
import { start } from './support/process.js';
import { temporaryDirectory, testWorld, type Outcome } from './support/world.js';

/** `sheaf` where @sheaf/bench is looked for in `directory` alone. */
async function sheafIn(directory: string, ...args: string[]): Promise<Outcome> {
  const world = await testWorld(args, directory);
  const code = await run({ ...world, packagePlaces: [pathToFileURL(join(directory, 'package.json')).href] });
  return { code, out: world.out(), err: world.err() };
}

/** A project whose @sheaf/bench is this module. */
async function projectWith(source: string): Promise<string> {
  const directory = await temporaryDirectory();
  const home = join(directory, 'node_modules', '@sheaf', 'bench');
  await mkdir(home, { recursive: true });
  await writeFile(join(home, 'package.json'), '{ "type": "module", "exports": { "./commands": "./commands.js" } }');
  await writeFile(join(home, 'commands.js'), source);
  return directory;
}

/** This package where nothing is beside it but what it needs. */
async function cliAlone(): Promise<string> {
  const [directory, here] = [await temporaryDirectory(), join(import.meta.dirname, '..')];
  for (const part of ['bin', 'dist', 'package.json'])
    await cp(join(here, part), join(directory, part), { recursive: true });
  await symlink(join(here, 'node_modules'), join(directory, 'node_modules'));
  return directory;
}

describe('without @sheaf/bench', () => {
  it.each([
    ['sheaf bench', ['bench', 'engine', '--runs', '3']],
    ['sheaf bench', ['bench']],
    ['sheaf bench', ['bench', '--help']],
    ['sheaf record', ['record', 'shop.har', '-o', 'pages']],
  ])('`%s` says how to install it: %j', async (purpose, args) => {
    const { code, out, err } = await sheafIn(await temporaryDirectory(), ...args);
    expect([code, out]).toEqual([3, '']);
    expect(err).toBe(
      `error[BENCH_UNAVAILABLE]: \`${purpose}\` needs @sheaf/bench, which is not installed\n` +
        '  hint: run: npm install @sheaf/bench@0.1.0\n',
    );
  });

  it('`sheaf demo --once` says so before it serves', async () => {
    const { code, out, err } = await sheafIn(await temporaryDirectory(), 'demo', '--once');
    expect([code, out]).toEqual([3, '']);
    expect(err).toContain('error[BENCH_UNAVAILABLE]: `sheaf demo --once` needs @sheaf/bench, which is not installed');
    expect(err).not.toContain('making the demo site');
  });

  it('the help still lists its commands', async () => {
    const { code, out } = await sheafIn(await temporaryDirectory(), '--help');
    expect(code).toBe(0);
    expect(out).toMatch(/^ {2}sheaf bench .*Run an experiment and print its table$/m);
    expect(out).toMatch(/^ {2}sheaf record /m);
  });
});

describe('@sheaf/bench', () => {
  it('is taken from the first place that has it', async () => {
    const [none, first, second] = [
      await temporaryDirectory(),
      await projectWith('export const which = 1;'),
      await projectWith('export const which = 2;'),
    ];
    const packagePlaces = [none, first, second].map((each) => pathToFileURL(join(each, 'package.json')).href);
    expect(await loadExperiments('sheaf bench', { packagePlaces })).toMatchObject({ which: 1 });
  });

  it('of the working directory is not run, not even for the help', async () => {
    const directory = await projectWith("console.error('planted code runs');");
    await writeFile(join(directory, 'package.json'), '{ "dependencies": { "@sheaf/bench": "0.1.0" } }');
    const program = join(await cliAlone(), 'bin', 'sheaf.js');
    for (const args of [['--help'], ['bench', '--help'], ['record', 'shop.har'], ['--get-yargs-completions', 'b']]) {
      const { exit, out, err } = start(args, directory, [], program);
      await exit;
      expect(out() + err()).toContain('bench');
      expect(out() + err()).not.toContain('planted code runs');
    }
  });

  it('is found beside the program that was called, where that is a link into a store', async () => {
    const project = await projectWith("throw new Error('half installed');");
    await symlink(await cliAlone(), join(project, 'node_modules', '@sheaf', 'cli'));
    const program = join(project, 'node_modules', '@sheaf', 'cli', 'bin', 'sheaf.js');
    const { exit, err } = start(['bench', 'engine'], await temporaryDirectory(), [], program);
    expect(await exit).toBe(3);
    expect(err()).toContain('@sheaf/bench cannot be loaded: half installed');
  });

  it('that does not load is an error with its reason', async () => {
    const { code, err } = await sheafIn(await projectWith("throw new Error('half installed');"), 'bench', 'engine');
    expect(code).toBe(3);
    expect(err).toContain('error[BENCH_UNAVAILABLE]: @sheaf/bench cannot be loaded: half installed');
    expect(err).toContain('npm install @sheaf/bench@0.1.0');
  });
});
