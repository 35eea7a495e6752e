/** Told of what was thrown in a call that nobody else waits for. */
export type OnFault = (error: unknown) => void;

/** A listener's fault must not cost the other events of a batch, or what else is done in this turn. */
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

/** In a turn of its own, as an uncaught exception: where nobody listens for errors, it stays visible. */
export function throwLater(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
