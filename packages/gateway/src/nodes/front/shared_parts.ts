import type { CertificatePair } from '@sheaf/native';
import type { SecretsSource } from '../../tls/secrets_source.js';
import type { Counts } from '../../values/counts.js';
import type { WorkerLinks } from '../../worker_links/worker_links.js';
import type { GivenSockets } from './given_sockets.js';

/** What the addresses of a node are for, by the options that name them */
export type ListenerUse = 'listen' | 'http' | 'backbone';

/** What a node gets that is one of several alike in its process: the main thread has it for all of them. */
export interface SharedParts extends GivenSockets {
  /** Which of them it is */
  readonly worker: { process: Uint8Array; index: number; count: number };
  /** Ways to the others */
  readonly links: WorkerLinks;
  /** Resolves when the node is to serve. Absent unless another process serves until this one is ready. */
  readonly begins: Promise<void> | undefined;
  readonly certificate: CertificatePair;
  readonly secrets: SecretsSource;
  /** Returns the counts of a name that all of them have together. */
  readonly counts: (name: string) => Counts;
}
