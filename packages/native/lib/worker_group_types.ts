/** IP address and port that workers listen on. */
export interface ListenedAddress {
  /** IP address. */
  address: string;
  /** UDP or TCP port. */
  port: number;
}

/** Numbers by which connection ids lead to workers (docs/reference/wire.md#connection-ids). */
export interface SteeringKey {
  /** 32 bits. */
  mask: number;
  /** 32 bits, odd. */
  multiplier: number;
}

/** What a process needs to take over a group of workers from another one. Descriptors are those of the other process. */
export interface InheritedGroup {
  /** Descriptors of the sockets, by address and then by worker. */
  descriptors: number[][];
  /** What connection ids are steered by. */
  key: SteeringKey;
  /** Descriptors of links to processes before, whose connections have not ended (`WorkerGroup.follow`). */
  links: number[];
}

/** Counts of a worker since the group was opened. */
export interface WorkerCounts {
  /** Datagrams of other workers that it got and passed on. */
  passedOn: number;
  /** Its own datagrams that it took from other workers. */
  taken: number;
  /** Datagrams that it passed on and that were lost, because the other worker had too many to read. */
  lost: number;
}
