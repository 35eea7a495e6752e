// Must be the first import: loading the others would already make the young generation grow.
import '@sheaf/gateway/heap';
import { loadConfiguration, startNodes } from '@sheaf/gateway';
import { announceNode, announceReady, namesOf } from '../announce.js';
import type { Command } from '../command.js';
import { nodeOf, shownPath } from '../configuration_file.js';
import { serveUntilSignal } from '../serve.js';
import { ServiceManager } from '../service_manager.js';
import { printNotice } from '../world.js';

interface UpOptions {
  file: string;
  node: string | undefined;
}

export const up: Command<UpOptions> = {
  usage: 'up [file]',
  summary: 'Run the nodes that a configuration file describes',
  options: (yargs) =>
    yargs
      .positional('file', { type: 'string', default: 'sheaf.yaml', describe: 'Configuration file' })
      .option('node', { type: 'string', requiresArg: true, describe: 'Run only the node of this name' })
      .example('$0 up sheaf.yaml', 'Serve until Ctrl-C; a second Ctrl-C ends at once')
      .example('$0 up sheaf.yaml --node laptop', 'Run one of several nodes')
      .example('SSLKEYLOGFILE=keys.txt $0 up', 'Write TLS secrets for Wireshark'),
  async run({ file, node }, world) {
    const started = performance.now();
    // The files of other nodes are on other machines.
    const loaded = await loadConfiguration(shownPath(file, world.cwd), {
      filesOf: (name) => node === undefined || name === node,
    });
    const wanted = node === undefined ? loaded.nodes : [nodeOf(loaded, node, file)];
    const keyLog = world.env['SSLKEYLOGFILE'];
    const nodes = await startNodes(wanted, keyLog === undefined || keyLog === '' ? {} : { keyLog });
    world.outliveOutput();
    const manager = new ServiceManager(world.env, {
      pid: process.pid,
      warn: (warning) => void printNotice(world.stderr, warning),
    });
    manager.ready(`serving: ${namesOf(nodes)}`);
    const code = await serveUntilSignal(nodes, world, {
      announce: async () => {
        await announceReady(performance.now() - started, world, loaded.named ? nodes : []);
        for (const running of nodes) await announceNode(running, world);
      },
      draining: () => manager.stopping(`draining: ${namesOf(nodes)}`),
    });
    manager.end();
    return code;
  },
};
