import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { freePort } from '@sheaf/gateway/client';
import { root, sheaf, startProgram } from './programs.js';

const fixtures = join(root, 'fixtures', 'modules');

/** What each module in fixtures/modules costs. */
export const modules = {
  echoes: 'nothing',
  reads: 'its session, when the client resets a stream',
  reads_at_once: 'its session, when the client resets a stream',
  leaves: 'nothing',
  ignores: 'nothing',
  never_returns: 'nothing',
  floods: 'its session, when the client stops a stream',
  throws: 'every session',
  throws_at_once: 'every session',
  throws_later: 'every session',
  strays: 'every session',
} as const;

/** The file of a module. */
export const fileOf = (name: string): string => join(fixtures, `${name}.mjs`);

export type LogLine = Record<string, unknown>;

/** A gateway with a route for each module, and /echo. */
export interface ModulesGateway {
  port: number;
  httpPort: number;
  logLines(): Promise<LogLine[]>;
  /** What the admin listener has at a path. */
  admins(path: string): Promise<string>;
  /** Resolves when no session is open. */
  allEnded(): Promise<void>;
  /** Exit code of the process. */
  stop(): Promise<number | null>;
}

/** `files`: a directory to serve at /. */
export async function startModulesGateway({
  limits = '',
  files,
}: { limits?: string; files?: string } = {}): Promise<ModulesGateway> {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-modules-'));
  const [port, httpPort, admin] = [await freePort(), await freePort(), await freePort()];
  const lines = [
    `listen: 127.0.0.1:${port}`,
    `http: 127.0.0.1:${httpPort}`,
    `admin: 127.0.0.1:${admin}`,
    'log: { file: gateway.log }',
    `limits: { ${limits} }`,
    'routes:',
    '  - { path: /echo, webtransport: echo }',
    ...[...Object.keys(modules), 'listens'].map(
      (name) => `  - { path: /${name}, webtransport: ${JSON.stringify(fileOf(name))} }`,
    ),
    ...(files === undefined ? [] : [`  - { path: /, files: ${JSON.stringify(files)} }`]),
  ];
  writeFileSync(join(directory, 'sheaf.yaml'), `${lines.join('\n')}\n`);
  const gateway = await startProgram(sheaf, ['up', join(directory, 'sheaf.yaml')], /ready/);
  const admins = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${admin}${path}`)).text();
  return {
    port,
    httpPort,
    admins,
    async logLines() {
      const text = await readFile(join(directory, 'gateway.log'), 'utf8');
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as LogLine);
    },
    async allEnded() {
      await vi.waitFor(
        async () => expect(JSON.parse(await admins('/status'))).toMatchObject({ webTransportSessions: 0 }),
        { timeout: 60_000, interval: 100 },
      );
    },
    async stop() {
      const code = await gateway.stop();
      rmSync(directory, { recursive: true, force: true });
      return code;
    },
  };
}
