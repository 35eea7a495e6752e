/** What the two ends of a port tell each other about streams, by their ids */
export type PortMessage =
  | { opens: number; both: boolean }
  | { stream: number; bytes: Uint8Array }
  /** No more bytes come. */
  | { ends: number }
  /** No more bytes come, although some are missing. */
  | { resets: number }
  /** No more bytes are read: all have come, or the rest is not wanted. */
  | { leaves: number }
  /** Bytes of any streams that were read, or thrown away */
  | { read: number };

/** Posts a message, and transfers the memory of its bytes. */
export type Post = (message: PortMessage) => void;
