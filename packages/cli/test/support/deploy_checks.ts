import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A program that `npm run setup` installs for these checks */
export const checker = (name: string): string =>
  fileURLToPath(new URL(`../../../../.sheaf/deploy-checks/bin/${name}`, import.meta.url));

export interface Ended {
  code: number;
  output: string;
}

/** Runs a command to its end. Resolves with what it printed anywhere. */
export function ended(command: string, args: readonly string[], cwd: string): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd }, (error, out, err) => {
      const { code = 0 } = (error ?? {}) as { code?: number | string };
      resolve({ code: typeof code === 'number' ? code : 127, output: out + err });
    });
  });
}

/** Says why a command cannot run here; undefined when it can. */
export function missing(command: string, args: readonly string[]): string | undefined {
  const { status, error } = spawnSync(command, args, { stdio: 'ignore' });
  return status === 0 ? undefined : `${command} ${args.join(' ')}: ${error ? error.message : `ended with ${status}`}`;
}
