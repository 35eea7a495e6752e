import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from 'pino';

/** A rejection that nobody waits for, or an exception that nobody catches. */
export type StrayKind = 'rejection' | 'exception';

/** Owner of code that is not ours; decides what the code's stray errors cost. */
export interface ErrorOwner {
  onStrayError(error: unknown, kind: StrayKind): void;
}

const owners = new AsyncLocalStorage<ErrorOwner>();
/** Owners by file, for code that runs outside of its owner's context, such as a listener: the stack names the file. */
const ownersByFile = new Map<string, ErrorOwner>();
const logs = new Set<Logger>();
const counts: Record<StrayKind, number> = { rejection: 0, exception: 0 };

/**
 * Runs `act`. Stray errors of everything that it starts go to the owner ([decision
 * 13](../../../../docs/decisions/0013-stray-errors-cost-their-session.md)).
 */
export function runOwned<Result>(owner: ErrorOwner, act: () => Result): Result {
  return owners.run(owner, act);
}

/** Makes `owner` responsible for errors from the file `url`, whatever their context. */
export function ownFile(url: string, owner: ErrorOwner): void {
  ownersByFile.set(url, owner);
}

/** Returns the counts of this process's stray errors that belong to no session. */
export function strayErrorCounts(): Readonly<Record<StrayKind, number>> {
  return counts;
}

/** Counts a stray error that belongs to no session. */
export function countStrayError(kind: StrayKind): void {
  counts[kind] += 1;
}

/**
 * Keeps stray errors from ending the process. Each goes to its owner; errors without an owner are counted, and logged
 * here as errors. Returns a function that ends this.
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
