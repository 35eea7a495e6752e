import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import type { ReloadOutcome } from '../../src/observability/configuration_report.js';
import type { FrontNodeStatus, NodeStatus, WorkerStatus } from '../../src/observability/status.js';
import type { RunningNode } from '../../src/nodes/life/running_node.js';
import { RunningConfiguration } from '../../src/nodes/reload/running_configuration.js';
import { WorkersNode } from '../../src/workers/workers_node.js';
import { logTo } from './nodes.js';
import { temporaryDirectory } from './temporary_directory.js';
import { writeFiles } from './write_files.js';

export interface RunningWorkers {
  running: RunningConfiguration;
  /** The first node of the file */
  node: WorkersNode;
  port: number;
  directory: string;
  /** What the nodes logged so far, line by line */
  log: Record<string, unknown>[];
  /** Writes the configuration, and reloads it. */
  change(yaml: string): Promise<ReloadOutcome>;
  /** What the node does now */
  status(): Promise<FrontNodeStatus>;
  workers(): Promise<WorkerStatus[]>;
  nodeOf(name: string): RunningNode;
}

/** The nodes of a configuration file, of which the first has several workers; they stop with the test. */
export async function startWorkers(
  yaml: string,
  files: Record<string, string | Buffer> = { 'site/a.txt': 'hello' },
): Promise<RunningWorkers> {
  const directory = await temporaryDirectory();
  await writeFiles(directory, files);
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
  if (!(node instanceof WorkersNode)) throw new Error('the first node has one worker');
  const status = async (): Promise<FrontNodeStatus> => {
    await node.refresh();
    return node.status();
  };
  return {
    running,
    node,
    port: node.address.port,
    directory,
    log,
    change: async (text) => {
      await writeFile(file, text);
      return running.reload();
    },
    status,
    workers: async () => (await status()).workers ?? [],
    nodeOf: (name) => running.nodes.find((each) => each.name === name)!,
  };
}

/** Ends the thread of a worker, as a fault would, and waits for its successor. */
export async function crash(node: WorkersNode, worker: number): Promise<void> {
  const before = node.pool.restarts;
  await threadOf(node, worker).terminate();
  await vi.waitFor(() => expect(node.pool.restarts).toBe(before + 1), 30_000);
  await vi.waitFor(() => expect(node.pool.serving.map(({ index }) => index)).toContain(worker), 30_000);
}

export function threadOf(node: WorkersNode, worker: number) {
  const found = node.pool.serving.find(({ index }) => index === worker);
  if (!found) throw new Error(`the worker ${worker} does not serve`);
  return found.thread;
}

/** Opens clients with one QUIC connection each: as many as it takes until each worker has one. */
export async function openAtEach<Client>(
  { workers: ask }: Pick<RunningWorkers, 'workers'>,
  open: () => Promise<Client>,
): Promise<Client[]> {
  const counts = async (): Promise<number[]> => (await ask()).map(({ quicConnections = 0 }) => quicConnections);
  const clients = new Map<number, Client>();
  let before = await counts();
  while (clients.size < before.length) {
    const client = await open();
    const after = await counts();
    clients.set(
      after.findIndex((count, worker) => count > before[worker]!),
      client,
    );
    before = after;
  }
  return before.map((_, worker) => clients.get(worker)!);
}

/** What a node does now, in whatever threads */
export async function statusOf(node: RunningNode): Promise<NodeStatus> {
  if (node instanceof WorkersNode) await node.refresh();
  return node.status();
}
