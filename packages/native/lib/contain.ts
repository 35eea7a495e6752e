/** Receives what was thrown in a call that nobody else waits for. */
export type OnFault = (error: unknown) => void;

/**
 * Runs `act` and reports what it throws: the fault of one listener must not cost the other events of a batch or the
 * rest of the turn.
 */
export function contain(act: () => void, onFault: OnFault): void {
  try {
    act();
  } catch (error) {
    onFault(error);
  }
}

/** Runs `act` in a turn of its own: no handler is called from inside its own call. */
export function later(act: () => void, onFault: OnFault): void {
  setImmediate(contain, act, onFault);
}

/** Throws in a turn of its own, as an uncaught exception, so that an error without a listener stays visible. */
export function throwLater(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
