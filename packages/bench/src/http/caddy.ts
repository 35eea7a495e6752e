import { join } from 'node:path';
import { errorMessage } from '@sheaf/gateway';
import { capture, runProgram } from '../process/run_program.js';
import { repositoryCache } from '../process/workspace.js';

/** Version that is measured if Go can build it, since Debian's is years older */
const caddyVersion = 'v2.11.9';
const caddyPackage = 'github.com/caddyserver/caddy/v2/cmd/caddy';

/** Oldest version of Go that itself fetches the version that a module needs */
const oldestGo = [1, 21] as const;

export interface FoundCaddy {
  /** Undefined when there is none */
  command: string | undefined;
  /** Why it is not the intended version */
  reason?: string;
}

const directory = (): string => join(repositoryCache(), `caddy-${caddyVersion}`);

/** Builds Caddy, which takes minutes the first time. Without a suitable Go, returns the installed one. */
export async function findCaddy(progress: (line: string) => void): Promise<FoundCaddy> {
  const built = join(directory(), 'caddy');
  if ((await capture(built, ['version'])) !== undefined) return { command: built };
  const reason = await build(directory(), progress);
  return reason === undefined ? { command: built } : findPresentCaddy(reason);
}

/** Finds a Caddy that was built before, or the installed one. `reason` says why no newer one is built. */
export async function findPresentCaddy(reason = 'this experiment builds none'): Promise<FoundCaddy> {
  const built = join(directory(), 'caddy');
  if ((await capture(built, ['version'])) !== undefined) return { command: built };
  const installed = (await capture('caddy', ['version'])) !== undefined;
  return installed
    ? { command: 'caddy', reason: `${caddyVersion} was not built: ${reason}; measured is the one that is installed` }
    : { command: undefined, reason: `${reason}, and none is installed (npm run setup, or apt-get install caddy)` };
}

/** Builds Caddy. Returns the reason of a failure; undefined after a success. */
async function build(target: string, progress: (line: string) => void): Promise<string | undefined> {
  const go = await findGo();
  if (go === undefined) return `Go ${oldestGo.join('.')} or newer is not installed`;
  progress(`building Caddy ${caddyVersion} (minutes the first time)`);
  const env = { ...process.env, GOBIN: target, GOTOOLCHAIN: 'auto', GOFLAGS: '' };
  return runProgram(go, ['install', `${caddyPackage}@${caddyVersion}`], { env }).then(
    () => undefined,
    (error: unknown) => errorMessage(error),
  );
}

async function findGo(): Promise<string | undefined> {
  for (const command of ['go', '/usr/bin/go']) {
    if (isRecentGo(await capture(command, ['version']))) return command;
  }
  return undefined;
}

/** Parses the output of `go version`, such as `go version go1.26.8 linux/amd64`; undefined when there is no Go. */
export function isRecentGo(version: string | undefined): boolean {
  const [major = 0, minor = 0] = (/\bgo(\d+)\.(\d+)/.exec(version ?? '')?.slice(1) ?? []).map(Number);
  return major > oldestGo[0] || (major === oldestGo[0] && minor >= oldestGo[1]);
}
