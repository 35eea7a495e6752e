// Runs a gateway or an edge in a process of its own, which restarts it on demand.
import { closeNodes, FrontNode, parseConfiguration, startNodes, type RunningNode } from '@sheaf/gateway';
import { serveCalls } from '../../process/called_process.js';

export type NodeCall =
  /** Starts a node in place of the current one. `file` names the configuration, YAML or JSON, in errors. */
  { type: 'start'; configuration: string; file: string } | { type: 'status' };

export interface StartedNode {
  port: number;
  httpPort: number | undefined;
}

let running: RunningNode[] = [];

serveCalls<NodeCall>(async (call) => {
  switch (call.type) {
    case 'start': {
      await closeNodes(running, 0);
      running = await startNodes(parseConfiguration(call.configuration, call.file).nodes);
      const node = running.find((each) => each instanceof FrontNode);
      return { port: node?.address.port ?? 0, httpPort: node?.httpAddress?.port } satisfies StartedNode;
    }
    case 'status':
      return running[0]?.status();
  }
});
