/** Time for the cache of groups, as an argument, so that tests decide how it passes */
export interface Clock {
  /** Returns milliseconds that only grow, and that all threads of the process count from the same moment. */
  now(): number;
  /** Calls `act` once after `milliseconds`. Returns a function that revokes this. */
  after(milliseconds: number, act: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Number(process.hrtime.bigint()) / 1e6,
  after: (milliseconds, act) => {
    const timer = setTimeout(act, milliseconds).unref();
    return () => clearTimeout(timer);
  },
};
