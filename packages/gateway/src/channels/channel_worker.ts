/** Number of the worker that has the sources of all channels */
export const channelWorker = 0;

/** One of several workers, which have the channels of a gateway in common */
export interface ChannelWorker {
  /** Random id that all of them have, and no other process */
  process: Uint8Array;
  index: number;
  count: number;
}
