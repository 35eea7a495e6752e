import { PassThrough } from 'node:stream';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { run } from '../../src/run.js';
import type { World } from '../../src/world.js';

export interface TestWorld extends World {
  out(): string;
  err(): string;
  /** Sends a signal to whoever listens. */
  signal(name: 'SIGINT' | 'SIGTERM'): void;
  /** Sends SIGHUP. */
  hangUp(): void;
}

/** A world in a temporary directory that goes away with the test. */
export async function testWorld(args: readonly string[], cwd?: string): Promise<TestWorld> {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const text = { out: '', err: '' };
  out.on('data', (chunk: Buffer) => (text.out += chunk.toString()));
  err.on('data', (chunk: Buffer) => (text.err += chunk.toString()));
  const listeners = new Set<(signal: 'SIGINT' | 'SIGTERM') => void>();
  const hangUps = new Set<() => void>();
  return {
    args,
    env: {},
    cwd: cwd ?? (await temporaryDirectory()),
    packagePlaces: [import.meta.url],
    stdout: out,
    stderr: err,
    onSignal(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onHangUp(listener) {
      hangUps.add(listener);
      return () => hangUps.delete(listener);
    },
    onUpgrade: () => () => undefined,
    passed: {},
    succeeds: false,
    again: { file: process.execPath, args: ['-e', 'process.exit(1)'] },
    outliveOutput: () => undefined,
    exit: (code) => {
      throw new Error(`the process would end with ${code}`);
    },
    out: () => text.out,
    err: () => text.err,
    hangUp: () => hangUps.forEach((listener) => listener()),
    signal: (name) => listeners.forEach((listener) => listener(name)),
  };
}

export interface Outcome {
  code: number;
  out: string;
  err: string;
}

/** Runs `sheaf` with these arguments to its end. */
export async function sheaf(args: readonly string[], cwd?: string): Promise<Outcome> {
  const world = await testWorld(args, cwd);
  const code = await run(world);
  return { code, out: world.out(), err: world.err() };
}

export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-cli-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
