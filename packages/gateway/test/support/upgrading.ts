import { join } from 'node:path';
import { freePort } from '../../src/values/free_port.js';
import { startProcess, type NodeProcess } from './node_process.js';
import { temporaryDirectory } from './temporary_directory.js';
import { writeFiles } from './write_files.js';

export interface Upgrading extends NodeProcess {
  port: number;
  directory: string;
  /** Writes the configuration file. */
  write(yaml: string): Promise<void>;
}

export interface UpgradingSite {
  /** What follows the addresses in the configuration */
  yaml: string;
  files?: Record<string, string>;
  /** Milliseconds for a process that takes over to get ready */
  timeoutMs?: number;
  /** Code that runs in place of the process that takes over */
  successor?: string;
}

/** A process with the node of a configuration file, and those that take over from it; all end with the test. */
export async function startUpgrading({ yaml, files = {}, timeoutMs, successor }: UpgradingSite): Promise<Upgrading> {
  const [directory, port, admin] = [await temporaryDirectory(), await freePort(), await freePort()];
  const textOf = (text: string): string => `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${admin}\n${text}`;
  const write = (text: string): Promise<void> => writeFiles(directory, { 'sheaf.yaml': textOf(text) });
  await writeFiles(directory, { ...files, ...(successor !== undefined && { 'successor.mjs': successor }) });
  await write(yaml);
  const running = await startProcess({
    file: join(directory, 'sheaf.yaml'),
    admin,
    timeoutMs,
    ...(successor !== undefined && { successor: join(directory, 'successor.mjs') }),
  });
  return { ...running, port, directory, write };
}
