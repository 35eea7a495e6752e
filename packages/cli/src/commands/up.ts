// Must be the first import: loading the others would already make the young generation grow.
import '@sheaf/gateway/heap';
import {
  FileState,
  passedSockets,
  RunningConfiguration,
  SocketStore,
  Succession,
  watchFile,
  type RunningConfigurationOptions,
} from '@sheaf/gateway';
import { announceNode, announceReady, namesOf } from '../announce.js';
import type { Command } from '../command.js';
import { nodeOf, shownPath } from '../configuration_file.js';
import { printReload } from '../print_reload.js';
import { printUpgrade } from '../print_upgrade.js';
import { serveUntilSignal } from '../serve.js';
import { ServiceManager } from '../service_manager.js';
import { printNotice, type World } from '../world.js';

interface UpOptions {
  file: string;
  node: string | undefined;
  watch: boolean;
}

export const up: Command<UpOptions> = {
  usage: 'up [file]',
  summary: 'Run the nodes that a configuration file describes',
  options: (yargs) =>
    yargs
      .positional('file', { type: 'string', default: 'sheaf.yaml', describe: 'Configuration file' })
      .option('node', { type: 'string', requiresArg: true, describe: 'Run only the node of this name' })
      .option('watch', {
        type: 'boolean',
        default: false,
        describe: 'Reload the configuration when its file changes',
      })
      .example('$0 up sheaf.yaml', 'Serve until Ctrl-C; a second Ctrl-C ends at once')
      .example('$0 up sheaf.yaml --node laptop', 'Run one of several nodes')
      .example('SSLKEYLOGFILE=keys.txt $0 up', 'Write TLS secrets for Wireshark'),
  async run(options, world) {
    const started = performance.now();
    const path = shownPath(options.file, world.cwd);
    const steps = { reload: nothing, upgrade: nothing, keep: (): void => undefined };
    const stops = [world.onHangUp(() => void steps.reload()), world.onUpgrade(() => void steps.upgrade())];
    // Notes the state before the file is read, so that what is written meanwhile is read again.
    const state = await FileState.of([path]);
    const warn = (warning: string): void => void printNotice(world.stderr, warning);
    const manager = new ServiceManager(world.env, { pid: process.pid, warn });
    const succession = world.succeeds ? await Succession.receive() : undefined;
    const store = new SocketStore({
      socketName: world.env['NOTIFY_SOCKET'],
      passed: passedSockets(world.passed, process.pid),
      stored: succession?.storedNames ?? [],
      warn,
    });
    const running = await RunningConfiguration.start({
      ...runningOptions(options, path, store, world),
      onReload: {
        begins: () => manager.reloading(process.hrtime.bigint()),
        ended: () => {
          steps.keep();
          manager.reloaded();
        },
      },
      ...(succession && { succession }),
    });
    world.outliveOutput();
    // After an upgrade has begun, the other process decides.
    steps.keep = (): void => {
      if (!running.upgrader!.busy) store.keep(running.sockets);
    };
    steps.keep();
    manager.ready(`serving: ${namesOf(running.nodes)}`, succession && process.pid);
    // The process before may end at once, and is no more the one that the manager supervises.
    succession?.serving();
    steps.reload = (): Promise<void> => reloadAndTell(running, world);
    steps.upgrade = (): Promise<void> => upgradeAndTell(running, world);
    const stopWatching = options.watch ? watchFile(state, steps.reload) : undefined;
    const leave = (): void => {
      manager.end();
      store.end();
      stopWatching?.();
    };
    const code = await serveUntilSignal([running], world, {
      announce: async () => {
        await announceReady(performance.now() - started, world, running.named ? running.nodes : []);
        for (const each of running.nodes) await announceNode(each, world);
      },
      draining: () => {
        store.end();
        manager.stopping(`draining: ${namesOf(running.nodes)}`);
      },
      over: outlived(running, leave, world),
    });
    leave();
    for (const stop of stops) stop();
    return code;
  },
};

const nothing = (): Promise<void> => Promise.resolve();

/** Time in milliseconds for a process that takes over to get ready */
const successorTimeoutMs = 30_000;

function runningOptions(
  { file, node }: UpOptions,
  path: string,
  store: SocketStore,
  world: World,
): RunningConfigurationOptions {
  const keyLog = world.env['SSLKEYLOGFILE'];
  return {
    file: path,
    // The files of other nodes are on other machines.
    filesOf: (name) => node === undefined || name === node,
    choose: (loaded) => (node === undefined ? loaded.nodes : [nodeOf(loaded, node, file)]),
    node: { store, ...(keyLog !== undefined && keyLog !== '' && { keyLog }) },
    // systemd names the directory of `StateDirectory=` so, where the one of the file is not for services to write.
    stateDirectory: world.env['STATE_DIRECTORY'],
    upgrade: { command: { ...world.again, env: world.env }, timeoutMs: successorTimeoutMs },
    now: () => new Date(),
  };
}

/** Waits until another process has taken over, and then for the end of the connections here. */
async function outlived(running: RunningConfiguration, leave: () => void, world: World): Promise<void> {
  const { upgrader } = running;
  await upgrader!.left;
  leave();
  await printNotice(world.stderr, 'another process has taken over; this one ends with its connections');
  await Promise.race([running.retire(), upgrader!.drained]);
}

/** The log tells all of it to programs. People see the outcome beside their terminal's prompt. */
async function reloadAndTell(running: RunningConfiguration, world: World): Promise<void> {
  const outcome = await running.reload();
  await printReload(outcome, world).catch(() => undefined);
}

async function upgradeAndTell(running: RunningConfiguration, world: World): Promise<void> {
  const outcome = await running.upgrade();
  await printUpgrade(outcome, world).catch(() => undefined);
}
