import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { GatewayStatus } from '../../src/observability/status.js';
import type { ReloadOutcome } from '../../src/observability/configuration_report.js';
import { Gateway } from '../../src/nodes/gateway.js';
import { RunningConfiguration } from '../../src/nodes/reload/running_configuration.js';
import { logTo } from './nodes.js';
import { temporaryDirectory } from './temporary_directory.js';

export interface Reloading {
  running: RunningConfiguration;
  gateway: Gateway;
  port: number;
  directory: string;
  /** The configuration file */
  file: string;
  /** What the nodes logged so far, line by line */
  log: Record<string, unknown>[];
  /** Writes the configuration, and reloads it. */
  change(yaml: string): Promise<ReloadOutcome>;
  status(): GatewayStatus;
}

export interface ReloadingSite {
  yaml: string;
  /** Files beside the configuration */
  files?: Record<string, string | Buffer>;
  now?: () => Date;
}

/** The nodes of a configuration file, of which the first is a gateway; they stop with the test. */
export async function startReloading({ yaml, files = {}, now = () => new Date() }: ReloadingSite): Promise<Reloading> {
  const directory = await temporaryDirectory();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), content);
  }
  const file = join(directory, 'sheaf.yaml');
  await writeFile(file, yaml);
  const log: Record<string, unknown>[] = [];
  const running = await RunningConfiguration.start({
    file,
    choose: ({ nodes }) => nodes,
    node: { logStream: logTo(log) },
    now,
  });
  onTestFinished(() => running.close(0));
  const [gateway] = running.nodes;
  if (!(gateway instanceof Gateway)) throw new Error('the first node is no gateway');
  const change = async (text: string): Promise<ReloadOutcome> => {
    await writeFile(file, text);
    return running.reload();
  };
  return { running, gateway, port: gateway.address.port, directory, file, log, change, status: () => gateway.status() };
}
