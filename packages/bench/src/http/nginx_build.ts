import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { errorMessage, UserError } from '@sheaf/gateway';
import { z } from 'zod';
import { capture, runProgram } from '../process/run_program.js';
import { cargo, whatIsMissing, type Tool } from '../process/toolchain.js';
import { peersDirectory, repositoryCache } from '../process/workspace.js';

/** Crate that locks the version of nginx. The one that it depends on brings the sources. */
const crate = join(peersDirectory, 'nginx');

/** What nginx is built with. The modules that are left out need further libraries, and nothing here uses them. */
export const configureOptions: readonly string[] = [
  '--with-http_ssl_module',
  '--with-http_v2_module',
  '--with-http_v3_module',
  '--without-http_rewrite_module',
  '--without-http_gzip_module',
  '--with-cc-opt=-O2',
];

const compiler: Tool = {
  name: 'a compiler of C',
  install: 'apt-get install gcc',
  isInstalled: async () => (await capture('cc', ['--version'])) !== undefined,
};

const make: Tool = {
  name: 'make',
  install: 'apt-get install make',
  isInstalled: async () => (await capture('make', ['--version'])) !== undefined,
};

const openssl: Tool = {
  name: 'libssl-dev',
  install: 'apt-get install libssl-dev',
  isInstalled: async () => (await capture('pkg-config', ['--exists', 'openssl'])) !== undefined,
};

/** Returns the version of nginx that the laboratory builds, which the lock file has; undefined without that file. */
export async function lockedNginx(): Promise<string | undefined> {
  const lock = await readFile(join(crate, 'Cargo.lock'), 'utf8').catch(() => '');
  // The crate has a version of its own, in front of that of its sources.
  return /name = "nginx-src"\nversion = "[^"+]+\+([^"]+)"/.exec(lock)?.[1];
}

/** Returns where the program of a version is, once it is built. */
export const builtNginx = (version: string): string => join(repositoryCache(), `nginx-${version}`, 'nginx');

/** Builds a version of nginx. Returns the reason of a failure; undefined after a success. */
export async function buildNginx(version: string, progress: (line: string) => void): Promise<string | undefined> {
  const missing = await whatIsMissing([cargo, compiler, make, openssl]);
  if (missing !== undefined) return missing;
  progress(`building nginx ${version} (two minutes the first time)`);
  await mkdir(repositoryCache(), { recursive: true });
  const scratch = await mkdtemp(join(repositoryCache(), 'nginx-build-'));
  try {
    const work = join(scratch, 'nginx');
    await cp(await fetchSources(), work, { recursive: true });
    await runProgram('sh', ['auto/configure', ...configureOptions], { cwd: work });
    await runProgram('make', ['-j', String(cpus().length), 'build'], { cwd: work });
    const target = builtNginx(version);
    await mkdir(dirname(target), { recursive: true });
    await rename(join(work, 'objs', 'nginx'), target);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const metadataSchema = z.object({ packages: z.array(z.object({ name: z.string(), manifest_path: z.string() })) });

/** Lets cargo fetch the locked crate. Returns the folder of nginx's sources in cargo's own cache. */
async function fetchSources(): Promise<string> {
  // Leaves out the crates of other systems.
  const host = /^host: (\S+)$/m.exec(await runProgram('cargo', ['-vV']))?.[1] ?? '';
  const args = ['metadata', '--quiet', '--locked', '--format-version', '1', '--filter-platform', host];
  const { packages } = metadataSchema.parse(JSON.parse(await runProgram('cargo', args, { cwd: crate })));
  const found = packages.find(({ name }) => name === 'nginx-src');
  if (!found) throw new UserError('BENCH_FAILED', 'cargo does not know the crate with the sources of nginx');
  return join(dirname(found.manifest_path), 'nginx');
}
