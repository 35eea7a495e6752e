import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { RunningConfiguration } from '../../src/nodes/reload/running_configuration.js';
import type { FrontNodeStatus } from '../../src/observability/status.js';
import { createNodeKey, nodeKeyFile } from '../../src/values/node_key.js';
import { FrontNode } from '../../src/nodes/front/front_node.js';
import { logTo } from './nodes.js';
import { temporaryDirectory } from './temporary_directory.js';

/** A machine: a directory with its configuration, and keys that no other machine has */
export interface Machine {
  directory: string;
  /** Makes a key of a node or an operator. Returns the public one. */
  key(name: string): Promise<string>;
  /** Writes the configuration, and starts the nodes in it; they stop with the test. */
  start(yaml: string): Promise<StartedMachine>;
}

export interface StartedMachine {
  running: RunningConfiguration;
  log: Record<string, unknown>[];
  node: FrontNode;
  status(): FrontNodeStatus;
}

export async function machine(): Promise<Machine> {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'site'));
  return {
    directory,
    key: async (name) => (await createNodeKey(nodeKeyFile(directory, name))).publicKey.toString(),
    start: async (yaml) => {
      const file = join(directory, 'sheaf.yaml');
      await writeFile(file, yaml);
      const log: Record<string, unknown>[] = [];
      const running = await RunningConfiguration.start({
        file,
        choose: ({ nodes }) => nodes,
        node: { logStream: logTo(log) },
        now: () => new Date(),
      });
      onTestFinished(() => running.close(0));
      const [node] = running.nodes;
      if (!(node instanceof FrontNode)) throw new Error('the first node has no listeners');
      return { running, log, node, status: () => node.status() };
    },
  };
}
