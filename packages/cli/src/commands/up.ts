// Must be the first import: loading the others would already make the young generation grow.
import '@sheaf/gateway/heap';
import { FileState, RunningConfiguration, watchFile } from '@sheaf/gateway';
import { announceNode, announceReady, namesOf } from '../announce.js';
import type { Command } from '../command.js';
import { nodeOf, shownPath } from '../configuration_file.js';
import { printReload } from '../print_reload.js';
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
  async run({ file, node, watch }, world) {
    const started = performance.now();
    const path = shownPath(file, world.cwd);
    const keyLog = world.env['SSLKEYLOGFILE'];
    let reload = (): Promise<void> => Promise.resolve();
    const stopListening = world.onHangUp(() => void reload());
    // Notes the state before the file is read, so that what is written meanwhile is read again.
    const state = await FileState.of([path]);
    const manager = new ServiceManager(world.env, {
      pid: process.pid,
      warn: (warning) => void printNotice(world.stderr, warning),
    });
    const running = await RunningConfiguration.start({
      file: path,
      // The files of other nodes are on other machines.
      filesOf: (name) => node === undefined || name === node,
      choose: (loaded) => (node === undefined ? loaded.nodes : [nodeOf(loaded, node, file)]),
      node: keyLog === undefined || keyLog === '' ? {} : { keyLog },
      now: () => new Date(),
      // systemd names the directory of `StateDirectory=` so, where the one of the file is not for services to write.
      stateDirectory: world.env['STATE_DIRECTORY'],
      onReload: { begins: () => manager.reloading(process.hrtime.bigint()), ended: () => manager.reloaded() },
    });
    world.outliveOutput();
    manager.ready(`serving: ${namesOf(running.nodes)}`);
    reload = (): Promise<void> => reloadAndTell(running, world);
    const stopWatching = watch ? watchFile(state, reload) : undefined;
    const code = await serveUntilSignal([running], world, {
      announce: async () => {
        await announceReady(performance.now() - started, world, running.named ? running.nodes : []);
        for (const each of running.nodes) await announceNode(each, world);
      },
      draining: () => manager.stopping(`draining: ${namesOf(running.nodes)}`),
    });
    stopWatching?.();
    stopListening();
    manager.end();
    return code;
  },
};

/** The log tells all of it to programs. People see the outcome beside their terminal's prompt. */
async function reloadAndTell(running: RunningConfiguration, world: World): Promise<void> {
  const outcome = await running.reload();
  await printReload(outcome, world).catch(() => undefined);
}
