import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ConnectionReport, DownloadOptions, Peer, SessionReport } from '../peer.js';
import { root, startProgram } from '../programs.js';

const patienceMs = 110_000;

/** A program that `npm run setup` builds or installs. @throws Error when it has not */
export function installed(...path: string[]): string {
  const program = join(root, ...path);
  if (!existsSync(program)) throw new Error(`${program} is missing; run \`npm run setup\``);
  return program;
}

/** Runs a program to its end and parses what it prints. Its standard error is the message when it fails. */
export async function printedJson<Printed>(
  program: string,
  args: readonly string[],
  timeout = patienceMs,
): Promise<Printed> {
  const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 1 << 24, timeout });
  return JSON.parse(stdout) as Printed;
}

/** What the programs of packages/bench/interop that take these arguments do. */
export function commonProgram(
  program: () => string,
  leading: () => readonly string[] = () => [],
): Required<Pick<Peer, 'download' | 'exerciseSessions' | 'serve'>> {
  return {
    download: ({ site, port, paths, connections = 1, ...flags }: DownloadOptions) =>
      printedJson<ConnectionReport[]>(program(), [
        ...leading(),
        'download',
        '--authority',
        site.certificates.authority,
        '--connections',
        String(connections),
        ...(flags.resume ? ['--resume'] : []),
        ...(flags.early ? ['--early'] : []),
        ...(flags.largeHello ? ['--large-hello'] : []),
        ...(flags.keyUpdate ? ['--key-update'] : []),
        ...(flags.migrate ? ['--migrate'] : []),
        `127.0.0.1:${port}`,
        ...paths,
      ]),
    exerciseSessions: (site) =>
      printedJson<SessionReport>(program(), [
        ...leading(),
        'webtransport',
        '--authority',
        site.certificates.authority,
        `127.0.0.1:${site.port}`,
      ]),
    async serve({ site, retry, otherGroup }) {
      const { certificate, key } = site.certificates;
      const server = await startProgram(
        program(),
        [
          ...leading(),
          'serve',
          certificate,
          key,
          ...(retry ? ['--retry'] : []),
          ...(otherGroup ? ['--other-group'] : []),
        ],
        /^ready \d+$/,
      );
      return { ...server, port: Number(server.line.split(' ')[1]) };
    },
  };
}
