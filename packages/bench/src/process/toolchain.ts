import { UserError } from '@sheaf/gateway';
import { capture } from './run_program.js';

/** A tool that builds programs of an experiment */
export interface Tool {
  name: string;
  /** Command that installs it on Debian 12 */
  install: string;
  isInstalled(): Promise<boolean>;
}

/** Oldest version of Rust for the format of the lock files. Debian 12 has an older one in `cargo`. */
const oldestCargo = [1, 78] as const;

export const cargo: Tool = {
  name: `cargo (Rust ${oldestCargo.join('.')} or newer)`,
  install: 'apt-get install cargo-web',
  isInstalled: async () => isRecentCargo(await capture('cargo', ['--version'])),
};

/** Oldest version of Rust for noq */
const oldestCargoForNoq = [1, 88] as const;

export const cargoForNoq: Tool = {
  name: `cargo (Rust ${oldestCargoForNoq.join('.')} or newer)`,
  install: 'npm run setup',
  isInstalled: async () => isRecentCargo(await capture('cargo', ['--version']), oldestCargoForNoq),
};

export const cmake: Tool = {
  name: 'cmake',
  install: 'apt-get install cmake',
  isInstalled: async () => (await capture('cmake', ['--version'])) !== undefined,
};

export const ninja: Tool = {
  name: 'ninja',
  install: 'apt-get install ninja-build',
  isInstalled: async () => (await capture('ninja', ['--version'])) !== undefined,
};

export const ngtcp2: Tool = {
  name: 'libngtcp2-dev and libngtcp2-crypto-gnutls-dev',
  install: 'npm run setup',
  isInstalled: async () =>
    (await capture('pkg-config', ['--exists', 'libngtcp2', 'libngtcp2_crypto_gnutls', 'gnutls'])) !== undefined,
};

/** Loses packets on their way */
export const nftables: Tool = {
  name: 'nft',
  install: 'npm run setup, or apt-get install nftables',
  isInstalled: async () => (await capture('nft', ['--version'])) !== undefined,
};

export const uftp: Tool = {
  name: 'uftp',
  install: 'npm run setup, or apt-get install uftp',
  isInstalled: async () => (await capture('sh', ['-c', 'command -v uftp && command -v uftpd'])) !== undefined,
};

export const norm: Tool = {
  name: 'libnorm-dev',
  install: 'npm run setup, or apt-get install libnorm-dev',
  isInstalled: async () => (await capture('pkg-config', ['--exists', 'norm'])) !== undefined,
};

/**
 * Parses the output of `cargo --version`, such as `cargo 1.95.0 (f2d3ce0bd 2026-03-21)`; undefined when there is no
 * cargo.
 */
export function isRecentCargo(version: string | undefined, oldest: readonly [number, number] = oldestCargo): boolean {
  const [major = 0, minor = 0] = (/^cargo (\d+)\.(\d+)/.exec(version ?? '')?.slice(1) ?? []).map(Number);
  const [oldestMajor, oldestMinor] = oldest;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

/** Returns the missing tools with the commands that install them; undefined when nothing is missing. */
export async function whatIsMissing(tools: readonly Tool[]): Promise<string | undefined> {
  const present = await Promise.all(tools.map((tool) => tool.isInstalled()));
  const missing = tools.filter((_, index) => !present[index]);
  return missing.length === 0
    ? undefined
    : missing.map(({ name, install }) => `${name} is not installed (${install})`).join(', ');
}

/** Checks that the tools for `purpose` are installed. @throws UserError that tells how to install the missing ones */
export async function requireTools(purpose: string, tools: readonly Tool[]): Promise<void> {
  const present = await Promise.all(tools.map((tool) => tool.isInstalled()));
  const missing = tools.filter((_, index) => !present[index]);
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(' and ');
  throw new UserError('BENCH_UNAVAILABLE', `${purpose} needs ${names}, which is not installed`, {
    hint: `run: ${missing.map(({ install }) => install).join(' && ')}`,
  });
}
