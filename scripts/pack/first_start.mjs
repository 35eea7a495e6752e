// How long a user waits for `npx sheaf init && npx sheaf up` after the installation.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { StepError, mustRun } from '../setup/process.mjs';

/** Returns the time until the gateway serves, and the processor time, both in seconds. A busy machine makes only the first one longer. */
export async function measureFirstStart(directory) {
  const started = performance.now();
  const before = processorSeconds(process.pid);
  mustRun('`sheaf init` failed.', 'npx', ['sheaf', 'init'], directory);
  const init = processorSeconds(process.pid) - before;
  const configuration = join(directory, 'sheaf.yaml');
  // The ports of the example may be taken.
  writeFileSync(configuration, readFileSync(configuration, 'utf8').replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:0'));
  const child = spawn('npx', ['sheaf', 'up'], { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  try {
    for await (const text of createInterface({ input: child.stdout }))
      if (/ready in/.test(text))
        return { elapsed: (performance.now() - started) / 1000, processor: init + groupProcessorSeconds(child.pid) };
    throw new StepError('`sheaf up` ended before it served.', { command: `cd ${directory} && npx sheaf up` });
  } finally {
    // npx passes no signal on: its whole group ends.
    process.kill(-child.pid, 'SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  }
}

/** Returns the processor time of a program and of all that it started, in its process group. */
function groupProcessorSeconds(group) {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const members = processes.filter((pid) => statOf(pid)[2] === String(group));
  return members.reduce((sum, pid) => sum + ownSeconds(pid), 0);
}

const ticksPerSecond = 100;

/** Processor time of the children that a process has waited for: cutime and cstime of proc(5) */
const processorSeconds = (pid) => (Number(statOf(pid)[13]) + Number(statOf(pid)[14])) / ticksPerSecond;

/** utime and stime */
const ownSeconds = (pid) => (Number(statOf(pid)[11]) + Number(statOf(pid)[12])) / ticksPerSecond;

/** Returns the fields from the state on, which is the third one. There are none when the process is gone. */
function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return [];
  }
}
