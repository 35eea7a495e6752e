import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { devCertificateFiles, loadDevCertificate } from '@sheaf/gateway';

/** A directory of files that a server has, and the certificate of server and proxies */
export interface Site {
  directory: string;
  files: string;
  cert: string;
  key: string;
  remove(): Promise<void>;
}

/** In memory, so that no disk decides */
const MEMORY = '/dev/shm';

/** Makes files of these sizes, and a certificate. Nobody looks at the bytes of the files. */
export async function makeSite(sizes: readonly number[]): Promise<Site> {
  const directory = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'sheaf-tunnels-'));
  const files = join(directory, 'files');
  await mkdir(files);
  for (const bytes of sizes) {
    await writeFile(join(files, fileOf(bytes)), '');
    await truncate(join(files, fileOf(bytes)), bytes);
  }
  await loadDevCertificate(directory, ['localhost', '127.0.0.1'], new Date());
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  return { directory, files, ...devCertificateFiles(directory), remove };
}

/** Name of the file of so many bytes */
export const fileOf = (bytes: number): string => String(bytes);

/** Bytes of each of several downloads */
export const partOf = (bytes: number, clients: number): number => Math.ceil(bytes / clients);
