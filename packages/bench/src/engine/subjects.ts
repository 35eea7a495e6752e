import { join } from 'node:path';
import { errorMessage, version } from '@sheaf/gateway';
import { buildNativeBench, buildWithCmake } from '../process/cmake.js';
import { runProgram } from '../process/run_program.js';
import { cargo, cmake, ngtcp2, ninja, whatIsMissing, type Tool } from '../process/toolchain.js';
import { peersDirectory } from '../process/workspace.js';
import { engineOutputSchema, type Sample } from './sample.js';

/** One library in the comparison */
export interface Subject {
  library: string;
  /** Version; undefined when the program prints it */
  version: string | undefined;
  /** Program and leading arguments; RUNS, BYTES and what a run is measured with follow */
  command: [string, ...string[]];
  /** What its transfers are measured with */
  transfer?: TransferOptions;
}

export interface Skipped {
  library: string;
  reason: string;
}

type Progress = (line: string) => void;

/** Builds Sheaf's own program. @throws UserError when tools are missing */
export async function buildSheaf(progress: Progress): Promise<Subject> {
  return { library: 'sheaf', version, command: [await buildNativeBench('engine_bench', progress)] };
}

/** Libraries that are built together, and the tools that this needs */
interface PeerGroup {
  libraries: readonly string[];
  tools: readonly Tool[];
  /** Builds the programs. Returns the command of each library's program. */
  build(): Promise<(library: string) => Subject['command']>;
}

const peerGroups: readonly PeerGroup[] = [
  {
    libraries: ['ngtcp2'],
    tools: [cmake, ninja, ngtcp2],
    async build() {
      const source = join(peersDirectory, 'engine-ngtcp2');
      await buildWithCmake(source, join(source, 'target'), [], 'engine-ngtcp2');
      return () => [join(source, 'target', 'engine-ngtcp2')];
    },
  },
  {
    libraries: ['quiche', 'quinn-proto'],
    tools: [cargo, cmake],
    async build() {
      const program = await buildWithCargo('engine-rust');
      return (library) => [program, library];
    },
  },
];

/** Builds the peers that this machine has the tools for, and returns the others with a reason. */
export async function buildPeers(
  progress: Progress,
  groups: readonly PeerGroup[] = peerGroups,
): Promise<{ subjects: Subject[]; skipped: Skipped[] }> {
  const subjects: Subject[] = [];
  const skipped: Skipped[] = [];
  for (const { libraries, tools, build } of groups) {
    const names = libraries.join(' and ');
    let reason = await whatIsMissing(tools);
    if (reason === undefined) {
      progress(`building ${names} (minutes the first time)`);
      try {
        const commandOf = await build();
        subjects.push(...libraries.map((library) => ({ library, version: undefined, command: commandOf(library) })));
        continue;
      } catch (error) {
        reason = `it does not build: ${errorMessage(error)}`;
      }
    }
    progress(`skipping ${names}: ${reason}`);
    skipped.push(...libraries.map((library) => ({ library, reason })));
  }
  return { subjects, skipped };
}

/** What a transfer is measured with, beside its size */
export interface TransferOptions {
  /** Number of receivers, which all get the same bytes on a connection of their own; default 1 */
  receivers?: number;
  /** What Sheaf encrypts with; default IPsec-MB */
  provider?: 'ipsec-mb' | 'gnutls';
  /** Whether datagrams go through Sheaf's endpoints instead of to its connections; default false */
  endpoint?: boolean;
}

/** Returns the words that a program gets after its leading ones: those that all know, and those of Sheaf's alone. */
export function wordsOf(
  { runs, bytes }: { runs: number; bytes: number },
  { receivers = 1, provider = 'ipsec-mb', endpoint = false }: TransferOptions,
): { task: string[]; own: string[] } {
  return {
    task: [runs, bytes, receivers].map(String),
    own: endpoint ? [provider, 'endpoint'] : provider === 'ipsec-mb' ? [] : [provider],
  };
}

/** Runs `runs` transfers of `bytes` each. @throws UserError */
export async function runSubject(
  { command: [program, ...leading], version: known, transfer }: Subject,
  { runs, bytes }: { runs: number; bytes: number },
  options: TransferOptions = {},
): Promise<{ samples: Sample[]; version: string }> {
  const { task, own } = wordsOf({ runs, bytes }, { ...transfer, ...options });
  const words = [...leading, ...task, ...own];
  const output = engineOutputSchema.parse(JSON.parse(await runProgram(program, words)));
  return { samples: output.samples, version: known ?? output.version ?? 'unknown' };
}

/** Builds one crate of peers/. Returns the path of its program. */
export async function buildWithCargo(crate: string): Promise<string> {
  await runProgram('cargo', ['build', '--release', '--locked', '--quiet', '--package', crate], { cwd: peersDirectory });
  return join(peersDirectory, 'target', 'release', crate);
}
