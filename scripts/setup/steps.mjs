// Lists the steps of the set-up in order. Each names the inputs that it depends on and the outputs that prove it, or
// checks by itself (`needed`). `first` steps need no system package but those of `system`: these two chains run beside each
// other and before all others, of which `foreign` ones run beside ours.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addonPath, buildAddon } from './addon.mjs';
import { installPackages } from './apt.mjs';
import { deployChecks } from './deploy_checks.mjs';
import { aioquic, go, rust } from './interop.mjs';
import { nodeVersions } from './node_versions.mjs';
import { StepError, commandLine, run } from './process.mjs';
import { filesBelow, root } from './stamp.mjs';

const rootPackage = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const packages = ['native', 'gateway', 'web-client', 'bench', 'cli'].map((name) => join('packages', name));
const manifests = [
  'package.json',
  'pnpm-workspace.yaml',
  'pnpm-lock.yaml',
  ...packages.map((name) => join(name, 'package.json')),
];

export const checkNode = () => {
  const wanted = rootPackage.engines.node.replace('>=', '').split('.').map(Number);
  const actual = process.versions.node.split('.').map(Number);
  const difference = wanted.map((part, index) => actual[index] - part).find((part) => part !== 0) ?? 0;
  if (difference >= 0) return;
  throw new StepError(`Node ${process.versions.node} is too old.`, {
    cause: 'builds before 20.19.5 export ngtcp2 symbols of their own, which the addon would call',
    command: `npx --yes --package=node@22 -- npm run setup   # or install Node ${wanted.join('.')} or newer`,
  });
};

/**
 * Calls the pnpm that `packageManager` pins by npx, which follows the user's npm settings. Node 25 no longer includes
 * Corepack.
 */
const pnpm = (args) => ({ command: 'npx', args: ['--yes', rootPackage.packageManager, ...args] });

async function runOrFail({ command, args }, title, options) {
  const code = await run(command, args, { cwd: root, ...options });
  if (code === 0) return;
  throw new StepError(title, {
    cause: `ended with ${code}; its message is above`,
    command: commandLine(command, args),
  });
}

/** Results of experiments are no sources: an experiment that keeps one does not make what it runs outdated. */
const isSource = (file) =>
  /\.(ts|tsx|mts|json)$/.test(file) && !file.includes('/test/') && !file.startsWith('packages/bench/results/');

export function steps(purpose) {
  return [
    {
      name: 'packages',
      title: 'System packages',
      first: 'system',
      run: () => installPackages(purpose),
    },
    {
      name: 'dependencies',
      title: 'npm dependencies',
      first: 'npm',
      inputs: () => manifests,
      outputs: ['node_modules/.modules.yaml'],
      run: () =>
        runOrFail(
          pnpm(['install', '--frozen-lockfile', '--ignore-scripts', '--reporter=append-only']),
          'The npm dependencies could not be installed.',
        ),
    },
    ...[aioquic, deployChecks, go, rust, { ...nodeVersions, first: 'npm' }].map((step) => ({
      ...step,
      foreign: true,
      skip: () => purpose !== 'test' && 'only for tests',
    })),
    ...ownSteps(purpose),
  ];
}

/** Returns the steps that build the sources of this repository. */
function ownSteps(purpose) {
  return [
    {
      name: 'addon',
      title: 'Native addon',
      inputs: () => [
        ...filesBelow('packages/native/src'),
        ...filesBelow('packages/native/install'),
        ...filesBelow('scripts/setup'),
        'packages/native/addon_sources.mjs',
        'packages/native/binding.gyp',
        'packages/native/layers.json',
        'packages/native/package.json',
      ],
      extra: [process.arch],
      outputs: [addonPath],
      run: () => buildAddon({ refuseWarnings: purpose === 'test' }),
    },
    {
      name: 'typescript',
      title: 'TypeScript',
      first: 'npm',
      inputs: () => [
        'tsconfig.json',
        'tsconfig.base.json',
        'pnpm-lock.yaml',
        ...packages.flatMap((name) => filesBelow(name, isSource)),
      ],
      outputs: packages.map((name) => join(name, 'dist/index.js')),
      run: () =>
        runOrFail(
          { command: process.execPath, args: [join(root, 'node_modules/typescript/bin/tsc'), '--build'] },
          'The TypeScript does not compile.',
        ),
    },
    {
      name: 'web-client',
      title: 'Browser bundle',
      first: 'npm',
      inputs: () => ['pnpm-lock.yaml', ...filesBelow('packages/web-client')],
      outputs: ['packages/web-client/dist/browser'],
      skip: () => !hasScript('packages/web-client', 'bundle') && 'packages/web-client has no `bundle` script',
      run: () =>
        runOrFail({ command: 'npm', args: ['run', '--silent', 'bundle'] }, 'The browser bundle could not be built.', {
          cwd: join(root, 'packages/web-client'),
        }),
    },
  ];
}

function hasScript(directory, name) {
  const path = join(root, directory, 'package.json');
  return existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).scripts?.[name] !== undefined;
}
