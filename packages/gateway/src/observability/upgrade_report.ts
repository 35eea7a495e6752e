import type { Refusal } from '../errors/refusal.js';

/** A process of a row of upgrades */
export interface ProcessVersion {
  pid: number;
  version: string;
}

/** What became of an upgrade */
export type UpgradeOutcome =
  { accepted: true; before: ProcessVersion; after: ProcessVersion } | { accepted: false; refusal: Refusal };

/** What a node tells of the upgrades of its process */
export interface UpgradeStatus {
  /** How many upgrades led to this process */
  generation: number;
  /** Earlier processes that still have connections */
  predecessors: number;
  /** The latest upgrade, if it failed */
  refused?: Refusal & { at: string };
}

/** What an operator can ask of a process that another one can take over from */
export interface UpgradeSource {
  status(): UpgradeStatus;
  /** Starts a process that takes over. Never rejects. */
  upgrade(): Promise<UpgradeOutcome>;
}
