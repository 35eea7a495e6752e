import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { FrontNodeOptions } from '../../src/nodes/front/front.js';
import { Gateway } from '../../src/nodes/gateway.js';
import { parseGateway } from './configuration.js';
import { logTo } from './nodes.js';
import { temporaryDirectory } from './temporary_directory.js';

export interface RunningGateway {
  gateway: Gateway;
  port: number;
  directory: string;
  /** What the gateway logged so far, line by line. */
  log: Record<string, unknown>[];
}

/** A gateway on a free TCP port, without the transport, with these keys in its configuration; stops with the test. */
export function startGateway(yaml: string, directory?: string): Promise<RunningGateway> {
  return start(yaml, directory, { loadNative: () => Promise.resolve(undefined) });
}

/** A gateway on a free port, TCP and UDP. */
export function startFullGateway(yaml: string, directory?: string): Promise<RunningGateway> {
  return start(yaml, directory, {});
}

async function start(yaml: string, directory: string | undefined, options: FrontNodeOptions): Promise<RunningGateway> {
  const home = directory ?? (await temporaryDirectory());
  const log: Record<string, unknown>[] = [];
  const loaded = parseGateway(`listen: 127.0.0.1:0\n${yaml}`, join(home, 'sheaf.yaml'));
  const gateway = await Gateway.start(loaded, { logStream: logTo(log), ...options });
  onTestFinished(() => gateway.close(0));
  return { gateway, port: gateway.address.port, directory: home, log };
}
