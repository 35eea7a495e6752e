import { spawn } from 'node:child_process';

/** Runs a program to its end. Resolves with its exit code (or signal) and all of its output. */
export function execute(program, args, { cwd, environment = {} } = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const parts = [];
    child.stdout.on('data', (part) => parts.push(part));
    child.stderr.on('data', (part) => parts.push(part));
    child.once('error', (error) => resolve({ code: 1, output: String(error) }));
    child.once('close', (code, signal) => resolve({ code: signal ?? code, output: Buffer.concat(parts).toString() }));
  });
}
