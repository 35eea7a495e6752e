// Allows one set-up at a time per checkout, since two builds in one directory would break each other.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCode, progress } from './process.mjs';
import { root } from './stamp.mjs';

const path = join(root, '.sheaf', 'setup.lock');

export async function withLock(action) {
  await acquire();
  const release = () => rmSync(path, { force: true });
  process.once('exit', release);
  const interrupt = (signal) => process.exit(exitCode(undefined, signal));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, interrupt);
  try {
    return await action();
  } finally {
    release();
    process.removeListener('exit', release);
    // What runs after the set-up handles signals itself.
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeListener(signal, interrupt);
  }
}

async function acquire() {
  mkdirSync(join(root, '.sheaf'), { recursive: true });
  for (let announced = false; ;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const owner = readOwner();
    if (owner === undefined) {
      rmSync(path, { force: true });
      continue;
    }
    if (!announced) progress(`Waiting for the set-up of process ${owner} …`);
    announced = true;
    await sleep(500);
  }
}

/** Returns the process that holds the lock; undefined when it is gone. */
function readOwner() {
  try {
    const owner = Number(readFileSync(path, 'utf8'));
    if (owner > 0) process.kill(owner, 0);
    return owner;
  } catch (error) {
    return error.code === 'EPERM' ? 'another user' : undefined;
  }
}
