import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { exitCodes, loadConfiguration, systemErrorCode, UserError, type LoadedNode } from '@sheaf/gateway';
import type { Command } from '../command.js';
import { nodeOf, shownPath } from '../configuration_file.js';
import { composeDeployment } from '../deploy/compose.js';
import type { Deployment, DeploymentSource } from '../deploy/deployment.js';
import { kubernetesDeployment } from '../deploy/kubernetes.js';
import { systemdDeployment } from '../deploy/systemd.js';
import { shellWord } from '../deploy/quoting.js';
import { refuseUnfit, type DeployTarget } from '../deploy/unfit.js';
import { refuseUnfitOptions } from '../deploy/unfit_values.js';
import { printLine, type World } from '../world.js';

interface DeployOptions {
  target: string;
  file: string;
  out: string | undefined;
  node: string | undefined;
  program: string;
  socketUnit: boolean;
  image: string;
  hostNetwork: boolean;
  force: boolean;
}

type Generator = (source: DeploymentSource, options: DeployOptions) => Deployment;

const generators: Readonly<Record<DeployTarget, Generator>> = {
  systemd: systemdDeployment,
  compose: composeDeployment,
  kubernetes: kubernetesDeployment,
};

export const deploy: Command<DeployOptions> = {
  usage: 'deploy <target> [file]',
  summary: 'Write what runs a node under systemd, Compose or Kubernetes',
  options: (yargs) =>
    yargs
      .positional('target', {
        type: 'string',
        demandOption: true,
        choices: Object.keys(generators),
        describe: 'What runs the node',
      })
      .positional('file', { type: 'string', default: 'sheaf.yaml', describe: 'Configuration file' })
      .option('out', { type: 'string', requiresArg: true, describe: 'Directory to write to; default: deploy/TARGET' })
      .option('node', { type: 'string', requiresArg: true, describe: 'Name of the node, where the file has several' })
      .option('program', {
        type: 'string',
        default: '/usr/bin/sheaf',
        requiresArg: true,
        describe: 'systemd: path of `sheaf` on the machine',
      })
      .option('socket-unit', {
        type: 'boolean',
        default: false,
        describe: 'systemd: let it open the ports, also while the node is stopped, and give the node no right to do so',
      })
      .option('image', {
        type: 'string',
        default: 'sheaf:local',
        requiresArg: true,
        describe: 'Compose, Kubernetes: name of the image',
      })
      .option('host-network', {
        type: 'boolean',
        default: false,
        describe: 'Kubernetes: one pod on each machine, with the network of the machine',
      })
      .option('force', { type: 'boolean', default: false, describe: 'Overwrite files' })
      .example('$0 deploy systemd', 'Write a hardened unit for the node of sheaf.yaml')
      .example('$0 deploy kubernetes --node site --host-network', 'Write a DaemonSet for one of several nodes'),
  async run(options, world) {
    const target = options.target as DeployTarget;
    refuseUnfitOptions(options);
    const shown = shownPath(options.file, world.cwd);
    const node = await wantedNode(shown, options);
    refuseUnfit(node, target, { socketUnit: target === 'systemd' && options.socketUnit });
    const text = await readFile(shown, 'utf8');
    const deployment = generators[target]({ node, text, file: shown }, options);
    await writeDeployment(deployment, options.out ?? join('deploy', target), options.force, world);
    return exitCodes.success;
  },
};

/** Returns the node of a file that describes one, or the named one. Its files may be on another machine. @throws UserError */
async function wantedNode(shown: string, { file, node }: DeployOptions): Promise<LoadedNode> {
  const loaded = await loadConfiguration(shown, { filesOf: () => false });
  if (node !== undefined) return nodeOf(loaded, node, file);
  const [only, ...others] = loaded.nodes;
  if (only && others.length === 0) return only;
  throw new UserError('USAGE', `${file} has several nodes, and each is deployed by itself`, {
    hint: `name one: ${loaded.nodes.map(({ name }) => `--node ${name}`).join(', ')}`,
  });
}

async function writeDeployment({ files, next }: Deployment, out: string, force: boolean, world: World): Promise<void> {
  const directory = resolve(world.cwd, out);
  // All or nothing: files of two configurations would not fit together.
  if (!force) for (const { path } of files) await refuseExisting(join(directory, path), join(out, path));
  for (const { path, text } of files) {
    await writeOne(join(directory, path), text);
    await printLine(world.stdout, `wrote ${join(out, path)}`);
  }
  await printLine(world.stdout, '\nnext:');
  const there = relative(process.cwd(), directory) || '.';
  await printLine(world.stdout, `  cd -- ${shellWord(there.startsWith('..') ? directory : there)}`);
  for (const line of next) await printLine(world.stdout, `  ${line}`);
}

async function refuseExisting(path: string, shown: string): Promise<void> {
  const exists = await stat(path).then(
    () => true,
    () => false,
  );
  if (exists)
    throw new UserError('CONFIG_EXISTS', `${shown} is there already`, {
      hint: 'name another directory with --out, or overwrite it with --force',
    });
}

async function writeOne(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  } catch (error) {
    throw new UserError('FILE_UNWRITABLE', `${path} cannot be written (${systemErrorCode(error) ?? 'unknown error'})`, {
      hint: 'name a directory that you may write to with --out',
      cause: error,
    });
  }
}
