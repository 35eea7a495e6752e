import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from 'pino';

/** A rejection that nobody waits for, or an exception that nobody catches. */
export type StrayKind = 'rejection' | 'exception';

/** Code that is not ours, and what its stray errors cost it. */
export interface ErrorOwner {
  onStrayError(error: unknown, kind: StrayKind): void;
}

const owners = new AsyncLocalStorage<ErrorOwner>();
/** For what runs outside of its owner's context, such as a listener: by a part of the stack that names the code. */
const ownersByFile = new Map<string, ErrorOwner>();
const logs = new Set<Logger>();
const counts: Record<StrayKind, number> = { rejection: 0, exception: 0 };

/** Runs `act`; the stray errors of all that it starts are the owner's ([decision 13](../../../../docs/decisions/0013-stray-errors-cost-their-session.md)). */
export function runOwned<Result>(owner: ErrorOwner, act: () => Result): Result {
  return owners.run(owner, act);
}

/** Errors that come from this file, in whatever context, are the owner's. */
export function ownFile(url: string, owner: ErrorOwner): void {
  ownersByFile.set(url, owner);
}

/** Stray errors of this process that no session is to blame for. */
export function strayErrorCounts(): Readonly<Record<StrayKind, number>> {
  return counts;
}

/** Counts one that no session is to blame for. */
export function countStrayError(kind: StrayKind): void {
  counts[kind] += 1;
}

/**
 * From now on no stray error ends the process: each goes to its owner, and those that have none are counted and logged
 * here as errors. Returns what ends that.
 */
export function watchStrayErrors(log: Logger): () => void {
  if (logs.size === 0) {
    process.on('unhandledRejection', onRejection);
    process.on('uncaughtException', onException);
  }
  logs.add(log);
  return () => {
    logs.delete(log);
    if (logs.size > 0) return;
    process.off('unhandledRejection', onRejection);
    process.off('uncaughtException', onException);
  };
}

function onRejection(error: unknown): void {
  onStrayError(error, 'rejection');
}
function onException(error: unknown): void {
  onStrayError(error, 'exception');
}

function onStrayError(error: unknown, kind: StrayKind): void {
  const owner = owners.getStore() ?? ownerByStack(error);
  if (owner) return owner.onStrayError(error, kind);
  countStrayError(kind);
  for (const log of logs) log.error({ err: error, kind }, 'stray error');
}

function ownerByStack(error: unknown): ErrorOwner | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  for (const [url, owner] of ownersByFile) if (stack.includes(`${url}:`)) return owner;
  return undefined;
}
