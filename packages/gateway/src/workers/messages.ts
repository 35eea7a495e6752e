import type { MessagePort } from 'node:worker_threads';
import type { CertificatePair } from '@sheaf/native';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Published, Title } from '../channels/publication.js';
import type { FrontNodeStatus } from '../observability/status.js';
import type { ConfigurationSource } from '../schema/loaded.js';
import type { GivenSecrets } from '../tls/secrets_source.js';
import type { RunningAddress, SentNodes } from '../values/running_addresses.js';
import type { SharedUdp } from '../values/shared_udp.js';
import type { SentError } from './sent_error.js';

/** Listening sockets of one worker, one for each address */
export interface SharedTcp {
  descriptors: readonly number[];
  port: number;
}

/** Sockets of one worker, by the options that name their addresses */
export interface SentSockets {
  /** Sockets of the main thread, of which a worker makes descriptors of its own */
  tcp: Partial<Record<'listen' | 'http', SharedTcp>>;
  udp: Partial<Record<'listen' | 'backbone', SharedUdp>>;
}

/** The configuration that a worker runs by, or is to run by */
export interface SentConfiguration {
  source: ConfigurationSource;
  certificate: CertificatePair;
  /** Those that the worker does not have yet */
  sockets: SentSockets;
}

/** What a worker gets as it starts */
export interface WorkerStart extends SentConfiguration {
  /** Name of the node */
  name: string;
  /** Random id that all workers of the node have until the process ends */
  process: Uint8Array;
  /** Number of the worker, from 0 */
  index: number;
  /** Number of workers of the node */
  count: number;
  secrets: GivenSecrets;
  /** Addresses of the other nodes in this process */
  running: readonly (readonly [string, RunningAddress])[];
  /** Nodes of other processes that a registry knows */
  elsewhere: SentNodes;
  keyLog: string | undefined;
  /** Whether connections wait in the sockets until the notice `begin`. Those of a process that takes over do. */
  waits: boolean;
}

/** A metric with its values, as prom-client passes it between threads */
export type CountedMetric = MetricObjectWithValues<MetricValue<string>>;

/** What a worker does and has */
export interface WorkerReport {
  status: FrontNodeStatus;
  metrics: CountedMetric[];
}

/** What is to be published on a channel. The port has the bytes (`receiveBytes`). */
export interface PublishedBytes {
  channel: string;
  title: Title;
  port: MessagePort;
}

/** Calls to a worker, with what they are given and what they return */
export interface WorkerCalls {
  /** Gets ready for another configuration. Returns warnings. */
  prepare: [given: SentConfiguration, returned: string[]];
  commit: [given: undefined, returned: undefined];
  abandon: [given: undefined, returned: undefined];
  report: [given: undefined, returned: WorkerReport];
  publish: [given: PublishedBytes, returned: Published];
  /** Shows that the worker does not hang. */
  answer: [given: undefined, returned: undefined];
  /** Drains for this time in milliseconds, and stops. */
  close: [given: number, returned: undefined];
}

/** What a worker is told, and says nothing about */
export type WorkerNotice =
  | { notice: 'certificate'; pair: CertificatePair }
  | { notice: 'secrets'; secrets: GivenSecrets['secrets'] }
  | { notice: 'running'; name: string; address: RunningAddress }
  | { notice: 'elsewhere'; nodes: SentNodes }
  | { notice: 'drain'; backend: string; drains: boolean }
  /** Gives a port to another worker. One of the two has just started. */
  | { notice: 'peer'; worker: number; port: MessagePort }
  | { notice: 'begin' }
  /** Accepts no more TCP connections, since another process does */
  | { notice: 'stopAccepting' };

export type ToWorker = WorkerNotice | { call: keyof WorkerCalls; id: number; given: unknown };

export type FromWorker =
  | { news: 'serving'; warnings: readonly string[] }
  | { news: 'failed'; error: SentError }
  | { news: 'log'; lines: string }
  | { id: number; returned: unknown }
  | { id: number; error: SentError };
