/** Times in milliseconds for what a worker has to do; one that hangs blocks nobody for longer */
export interface WorkerTimes {
  /** To serve after its thread was started */
  start: number;
  /** To get ready for another configuration, or to change to it */
  change: number;
  /** To stop once the time to drain is over */
  close: number;
  /** Between questions whether it still answers */
  beat: number;
  /** Number of such questions without a response after which it is replaced */
  misses: number;
}

export const workerTimes: WorkerTimes = { start: 60_000, change: 30_000, close: 5_000, beat: 1_000, misses: 10 };
