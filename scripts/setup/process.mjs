// Runs child processes of the set-up and test commands. Their output goes to standard error, so that the standard
// output of `npm run demo -- --json` remains JSON.
import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';

/** A failure that the user can act on: what, why, and the command to run */
export class StepError extends Error {
  constructor(message, { cause, command } = {}) {
    super(message);
    this.causeText = cause;
    this.command = command;
  }
}

/** Returns the exit code as a shell reports it: 128 + n after signal n. */
export function exitCode(code, signal) {
  return signal ? 128 + constants.signals[signal] : (code ?? 1);
}

/**
 * Runs a command to its end and shows its output, which `onOutput` gets too. Resolves with the exit
 * code (128 + n after signal n). Rejects when `stop` is aborted, which ends it.
 */
export function run(command, args, { cwd, env, quiet = false, onOutput, stop } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      signal: stop,
      stdio: onOutput ? ['ignore', 'pipe', 'pipe'] : ['ignore', quiet ? 'ignore' : process.stderr, process.stderr],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (part) => {
        process.stderr.write(part);
        onOutput(part);
      });
    }
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(exitCode(code, signal)));
  });
}

/** Runs a command to its end. Returns its standard output; undefined when it failed or does not exist. */
export function capture(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26, ...options });
  return result.status === 0 ? result.stdout : undefined;
}

/** Returns the command as one would type it. */
export function commandLine(command, args) {
  return [command, ...args]
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}

export function progress(text) {
  process.stderr.write(`${text}\n`);
}

/** Returns the standard output of a command. @throws StepError with `title` when it fails. */
export function mustRun(title, command, args, cwd) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (status === 0) return stdout;
  throw new StepError(title, { cause: `${stdout}${stderr}`.trim(), command: commandLine(command, args) });
}
