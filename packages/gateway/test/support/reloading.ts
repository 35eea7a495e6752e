import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { GatewayStatus } from '../../src/observability/status.js';
import type { ReloadOutcome } from '../../src/observability/configuration_report.js';
import { Gateway } from '../../src/nodes/gateway.js';
import { RunningConfiguration } from '../../src/nodes/reload/running_configuration.js';
import { logTo } from './nodes.js';
import { temporaryDirectory } from './temporary_directory.js';
import { writeFiles } from './write_files.js';

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
  /** Time in milliseconds in which the nodes get ready */
  readyMs?: number;
}

/** The nodes of a configuration file, of which the first is a gateway; they stop with the test. */
export async function startReloading({ yaml, files = {}, ...more }: ReloadingSite): Promise<Reloading> {
  const directory = await temporaryDirectory();
  await writeFiles(directory, { ...files, 'sheaf.yaml': yaml });
  return startReloadingFile(join(directory, 'sheaf.yaml'), more);
}

/** The same for a file that exists */
export async function startReloadingFile(
  file: string,
  { now = () => new Date(), ...more }: Pick<ReloadingSite, 'now' | 'readyMs'> = {},
): Promise<Reloading> {
  const log: Record<string, unknown>[] = [];
  const running = await RunningConfiguration.start({
    file,
    choose: ({ nodes }) => nodes,
    node: { logStream: logTo(log) },
    now,
    ...more,
  });
  onTestFinished(() => running.close(0));
  const [gateway] = running.nodes;
  if (!(gateway instanceof Gateway)) throw new Error('the first node is no gateway');
  const change = async (text: string): Promise<ReloadOutcome> => {
    await writeFile(file, text);
    return running.reload();
  };
  const status = (): GatewayStatus => gateway.status();
  return { running, gateway, port: gateway.address.port, directory: dirname(file), file, log, change, status };
}
