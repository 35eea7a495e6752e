/** A node of the fleet as the registry tells of it */
export interface FleetNodeReport {
  name: string;
  role: string;
  /** `suspect`: three heartbeats are missing. `gone` nodes are not listed. */
  state: string;
  draining: boolean;
  /** Whether it runs in this process */
  own: boolean;
  /** Id in its connection ids, in hexadecimal */
  serverId?: string;
  /** Address of its backbone */
  backbone?: string;
  version: string;
  backboneVersion: number;
  /** SHA-256 of the configuration that it runs by */
  configuration: string;
}

/** What a process knows of the registry of its fleet */
export interface RegistryStatus {
  /** Where the registry is */
  place: string;
  /** Name of the fleet in it */
  site: string;
  connected: boolean;
  /** Seconds since the registry told something. Absent: it has told nothing yet, and what is known is the copy of the last time. */
  ageSeconds?: number;
  /** Writes that the registry did not take */
  failedWrites: number;
  /** Why the latest operation failed, unless one succeeded since */
  reason?: string;
  /** Watches that went silent, and were opened anew */
  deadWatches: number;
  /** Entries that were not believed or not read, by reason */
  refused: Record<string, number>;
  nodes: FleetNodeReport[];
  /** What an operator has to put right, each with a fix */
  conflicts: string[];
  /** Revision of the operator's document that was read last. Absent: there is none, or this process does not follow it. */
  followed?: number;
}

/** Tells what a process knows of the registry. */
export interface RegistrySource {
  status(): RegistryStatus;
}
