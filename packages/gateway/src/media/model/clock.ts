/** Time for the cache of groups, as an argument, so that tests decide how it passes */
export interface Clock {
  /** Returns milliseconds that only grow. */
  now(): number;
  /** Calls `act` once after `milliseconds`. Returns a function that revokes this. */
  after(milliseconds: number, act: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (milliseconds, act) => {
    const timer = setTimeout(act, milliseconds).unref();
    return () => clearTimeout(timer);
  },
};
