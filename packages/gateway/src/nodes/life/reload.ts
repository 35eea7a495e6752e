/** A part of a node that is ready for another configuration, and still works by the old one */
export interface Prepared {
  /** Problems that do not stop the reload */
  warnings: readonly string[];
  /** Changes to the new configuration, at once and without failing. */
  commit(): void;
  /** Closes what was opened for the new configuration. */
  abandon(): Promise<void>;
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
