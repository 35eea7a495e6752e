// Installs newer versions of Node, for tests of the differences between them. They come from npm, each as a package
// that contains only the program.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StepError, commandLine, run } from './process.mjs';
import { root } from './stamp.mjs';

const versions = { 'node-22': '22.23.3', 'node-24': '24.21.0' };
const directory = join('.sheaf', 'node-versions');
const programOf = (name) => join(directory, 'node_modules', name, 'bin', 'node');

export const nodeVersions = {
  name: 'node-versions',
  title: 'Node 22 and 24 for the tests',
  inputs: () => [],
  extra: [JSON.stringify(versions), process.arch],
  outputs: Object.keys(versions).map(programOf),
  async run() {
    const dependencies = Object.fromEntries(
      Object.entries(versions).map(([name, version]) => [name, `npm:node-linux-${process.arch}@${version}`]),
    );
    mkdirSync(join(root, directory), { recursive: true });
    writeFileSync(join(root, directory, 'package.json'), JSON.stringify({ private: true, dependencies }));
    const args = ['install', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error'];
    const code = await run('npm', args, { cwd: join(root, directory) });
    if (code === 0) return;
    throw new StepError('Node 22 and 24 could not be installed.', {
      cause: `ended with ${code}; its message is above`,
      command: `cd ${directory} && ${commandLine('npm', args)}`,
    });
  },
};
