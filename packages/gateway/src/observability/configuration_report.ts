import type { Refusal } from '../errors/refusal.js';

/** A difference between two configurations of a node */
export interface ConfigurationChange {
  node: string;
  /** Key in the configuration, such as `listen`, `limits.drain` or `routes` */
  option: string;
  change: 'added' | 'removed' | 'changed';
  /** Which of several, such as the path of a route */
  name?: string;
}

/** What became of a reload */
export type ReloadOutcome =
  | { accepted: true; version: string; changes: ConfigurationChange[]; warnings: string[] }
  | { accepted: false; version?: string; refusal: Refusal };

/** The configuration that a process runs by */
export interface ConfigurationStatus {
  /** SHA-256 of the document in hexadecimal */
  version: string;
  /** File that it was read from, or the revision of the operator's document in the registry */
  source: string;
  /** Time since which it is in use, ISO 8601 */
  since: string;
  /** The latest document that was refused, unless another one was accepted since */
  refused?: Refusal & { at: string; version?: string };
}

/** What a node tells of its configuration, and what an operator can ask of it */
export interface ReloadSource {
  status(): ConfigurationStatus;
  /** Reads the configuration again, and changes to it as a whole or not at all. Never rejects. */
  reload(): Promise<ReloadOutcome>;
}
