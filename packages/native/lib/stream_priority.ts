/** A node of a dependency tree (RFC 7540 §5.3). */
export interface StreamDependency {
  /** Above 0; chosen by who asks for the order. A group has a node and no stream. */
  node: number;
  /** 0 is the root; may not be known yet. */
  parent: number;
  /** 1 to 256. */
  weight: number;
  exclusive: boolean;
}

/** Which stream goes first. Nodes belong to the session, or to all requests of the connection. */
export interface StreamPriority {
  /** RFC 9218 §4: 0 is first, 7 is last. */
  urgency: number;
  /** Shares with others of its urgency. */
  incremental: boolean;
  dependency?: StreamDependency;
  /** Groups between the stream and the root, as the latest word about them. */
  groups?: readonly StreamDependency[];
}
