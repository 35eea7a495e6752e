// Child processes of the set-up and test commands. Their output goes to standard error, so that the
// standard output of `npm run demo -- --json` stays JSON.
import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';

/** A failure that the user can act on: what, why, and the command to run. */
export class StepError extends Error {
  constructor(message, { cause, command } = {}) {
    super(message);
    this.causeText = cause;
    this.command = command;
  }
}

/** The exit code as a shell gives it: 128 + n after signal n. */
export function exitCode(code, signal) {
  return signal ? 128 + constants.signals[signal] : (code ?? 1);
}

/** Runs to the end and shows the output. Resolves with the exit code (128 + n after signal n). */
export function run(command, args, { cwd, env, quiet = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', quiet ? 'ignore' : process.stderr, process.stderr],
    });
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(exitCode(code, signal)));
  });
}

/** Runs to the end and hands back the standard output; undefined when it failed or is not there. */
export function capture(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26, ...options });
  return result.status === 0 ? result.stdout : undefined;
}

/** The command as one would type it. */
export function commandLine(command, args) {
  return [command, ...args]
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}

export function progress(text) {
  process.stderr.write(`${text}\n`);
}
