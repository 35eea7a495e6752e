/** A part of a node that is ready for another configuration, and still works by the old one */
export interface Prepared {
  /** Problems that do not stop the reload */
  warnings: readonly string[];
  /** Changes to the new configuration, at once and without failing. */
  commit(): void;
  /** Closes what was opened for the new configuration. */
  abandon(): Promise<void>;
}

/**
 * Waits until a part is ready, or `end` rejects. It then abandons the part as soon as it is ready: nothing else can stop what it waits
 * for, such as a module that never loads.
 */
export async function readyBefore(end: Promise<never>, preparing: Promise<Prepared>): Promise<Prepared> {
  try {
    return await Promise.race([preparing, end]);
  } catch (error) {
    void preparing.then(
      (late) => late.abandon(),
      () => undefined,
    );
    throw error;
  }
}

/** Prepares one part after the other. If one fails, abandons those before. */
export async function prepareAll(steps: readonly (() => Promise<Prepared>)[]): Promise<Prepared> {
  const ready: Prepared[] = [];
  const abandon = async (): Promise<void> => {
    for (const part of ready.reverse()) await part.abandon();
  };
  try {
    for (const step of steps) ready.push(await step());
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
