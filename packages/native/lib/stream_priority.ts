/** A node of a dependency tree (RFC 7540 §5.3). */
export interface StreamDependency {
  /** Number of the node, above 0, which the side chooses that asks for the order. A group has a node and no stream. */
  node: number;
  /** Node above it; 0 is the root. It may be announced later. */
  parent: number;
  /** Share among the children of `parent`, 1 to 256. */
  weight: number;
  /** True: takes the place of all children of `parent`, which become its own (RFC 7540 §5.3.1). */
  exclusive: boolean;
}

/** Priority of a stream. Nodes belong to the session, or to all requests of the connection. */
export interface StreamPriority {
  /** RFC 9218 §4: 0 is first, 7 is last. */
  urgency: number;
  /** True: shares the connection with other streams of its urgency (RFC 9218 §4.2). */
  incremental: boolean;
  /** Place in the dependency tree, for schedulers that follow it. */
  dependency?: StreamDependency;
  /** Groups between the stream and the root; the latest announcement about a node counts. */
  groups?: readonly StreamDependency[];
}
