/** A part of a node that is ready for another configuration, and still works by the old one */
export interface Prepared {
  /** Problems that do not stop the reload */
  warnings: readonly string[];
  /** Changes to the new configuration, at once and without failing. */
  commit(): void;
  /** Closes what was opened for the new configuration. */
  abandon(): Promise<void>;
}

/** Settles as the work does, or rejects as soon as `signal` is aborted. */
export async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work;
  signal.throwIfAborted();
  let stop!: () => void;
  const aborted = new Promise<never>((_resolve, reject) => (stop = () => reject(signal.reason as Error)));
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Prepares one part after the other. If one fails, or `signal` is aborted, abandons those before. The part that gets ready then is
 * abandoned when it is: nothing else ends what it waits for, such as a module that never loads.
 */
export async function prepareAll(steps: readonly (() => Promise<Prepared>)[], signal?: AbortSignal): Promise<Prepared> {
  const ready: Prepared[] = [];
  const abandon = async (): Promise<void> => {
    for (const part of ready.reverse()) await part.abandon();
  };
  try {
    for (const step of steps) ready.push(await prepareOne(step(), signal));
    signal?.throwIfAborted();
  } catch (error) {
    await abandon();
    throw error;
  }
  return {
    warnings: ready.flatMap(({ warnings }) => warnings),
    commit: () => ready.forEach((part) => part.commit()),
    abandon,
  };
}

async function prepareOne(preparing: Promise<Prepared>, signal: AbortSignal | undefined): Promise<Prepared> {
  try {
    return await orAborted(preparing, signal);
  } catch (error) {
    void preparing.then(
      (late) => late.abandon(),
      () => undefined,
    );
    throw error;
  }
}
