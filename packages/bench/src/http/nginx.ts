import { capture } from '../process/run_program.js';
import type { Protocol } from './load_clients.js';
import { builtNginx, buildNginx, configureOptions, lockedNginx } from './nginx_build.js';

/** Commands of an installed nginx: Debian's package has it where only root has it in the path. */
const installedCommands = ['nginx', '/usr/sbin/nginx'];

export interface FoundNginx {
  command: string;
  /** Version, with the release of Debian's package or what it was configured with */
  version: string;
  /** Whether `http2 on` replaces the parameter of `listen`, which would give a warning */
  http2Directive: boolean;
  /** Why it cannot be measured over a protocol */
  reasons: Partial<Record<Protocol, string>>;
  /** Why it is not the intended version */
  reason?: string;
}

/** What the intended nginx has */
export const intendedNginx: Pick<FoundNginx, 'http2Directive' | 'reasons'> = { http2Directive: true, reasons: {} };

/** Builds nginx, which takes minutes the first time. Where it does not build, returns the installed one. */
export async function findNginx(progress: (line: string) => void): Promise<FoundNginx> {
  const version = await lockedNginx();
  if (version === undefined) return findPresentNginx('the sources of the repository are not here');
  const present = await findPresentNginx();
  return present.command === builtNginx(version) ? present : findPresentNginx(await buildNginx(version, progress));
}

/** Finds an nginx that was built before, or the installed one. `reason` says why no newer one is built. */
export async function findPresentNginx(reason = 'this experiment builds none'): Promise<FoundNginx> {
  const version = await lockedNginx();
  const built = version === undefined ? [] : [builtNginx(version)];
  return chooseNginx({ built, installed: installedCommands }, reason);
}

/** Chooses the first program that exists. Those that were built count only if they have the present options. */
export async function chooseNginx(
  { built, installed }: Readonly<Record<'built' | 'installed', readonly string[]>>,
  reason: string,
): Promise<FoundNginx> {
  for (const command of built) {
    const found = await describe(command);
    if (found?.options === configureOptions.join(' ')) return toFound(command, found);
  }
  for (const command of installed) {
    const found = await describe(command);
    if (!found) continue;
    const release = await capture('dpkg-query', ['--show', '--showformat', '${Version}', 'nginx']);
    const chosen = toFound(command, found, release);
    return { ...chosen, reason: `a current nginx was not built: ${reason}; the installed one is ${chosen.version}` };
  }
  const none = `${reason}, and none is installed (npm run setup, or apt-get install nginx-light)`;
  return { command: '', version: 'none', http2Directive: false, reasons: { h3: none, h2: none } };
}

/** Returns why nginx is not measured over each of these protocols, or in another version than the intended one. */
export function whatNginxLacks({ reason, reasons }: FoundNginx, protocols: readonly Protocol[]): string | undefined {
  const lacking = new Set([reason, ...protocols.map((protocol) => reasons[protocol])]);
  return [...lacking].filter((why) => why !== undefined).join('; ') || undefined;
}

interface NginxBuild extends Pick<FoundNginx, 'version' | 'http2Directive' | 'reasons'> {
  /** What it was configured with */
  options: string;
}

async function describe(command: string): Promise<NginxBuild | undefined> {
  // Prints to standard error, which a shell joins to the output.
  const printed = await capture('sh', ['-c', '"$0" -V 2>&1', command]);
  return printed === undefined ? undefined : describeNginx(printed);
}

/** Reads the output of `nginx -V`. */
export function describeNginx(printed: string): NginxBuild {
  const version = /nginx version: nginx\/(\S+)/.exec(printed)?.[1] ?? 'unknown';
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  const has = (protocol: string): boolean => printed.includes(`--with-http_${protocol}_module`);
  return {
    version,
    options: /^configure arguments: (.*)$/m.exec(printed)?.[1] ?? '',
    // Since 1.25.1
    http2Directive: major * 1e6 + minor * 1e3 + patch >= 1_025_001,
    reasons: {
      ...(!has('v3') && { h3: `nginx ${version} is built without HTTP/3, which came with 1.25` }),
      ...(!has('v2') && { h2: `nginx ${version} is built without HTTP/2` }),
    },
  };
}

const toFound = (command: string, { options, ...build }: NginxBuild, release?: string): FoundNginx => ({
  command,
  ...build,
  version: versionOf({ ...build, options }, release),
});

/** Returns the version of the installed package, which names the release of Debian, if the program is its own. */
export const versionOf = (
  { version, options }: Pick<NginxBuild, 'version' | 'options'>,
  installed: string | undefined,
): string => (installed?.startsWith(`${version}-`) ? installed : `${version} (${options})`);
