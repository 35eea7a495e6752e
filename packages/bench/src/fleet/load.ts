import { setTimeout as sleep } from 'node:timers/promises';
import { Connections, type Connection } from './connections.js';
import { downloadOnce, type DownloadCounts } from './downloads.js';
import type { Site } from './fleet_nodes.js';

/** What a client does again and again */
export const workKinds = ['files', 'backends', 'connects', 'downloads'] as const;
export type WorkKind = (typeof workKinds)[number];

export interface WorkCounts {
  done: number;
  /** Attempts that failed, each of which is followed by another one */
  failed: number;
  /** Those among them on connections whose gateway was not killed */
  failedAtLiving: number;
  /** Longest time in milliseconds until something succeeded, with all its attempts */
  longestMs: number;
  /** Time, as of `performance.now()`, at which something succeeded last that had failed before */
  recoveredAt: number;
  /** Reasons of failures, and how often each occurred */
  reasons: Record<string, number>;
}

const clients: Record<WorkKind, number> = { files: 4, backends: 3, connects: 1, downloads: 2 };
/** Pause after each piece of work, in milliseconds */
const pauses: Record<WorkKind, number> = { files: 50, backends: 50, connects: 100, downloads: 20 };
const retryMs = 50;
const maxReasons = 20;

const noWork = (): WorkCounts => ({
  done: 0,
  failed: 0,
  failedAtLiving: 0,
  longestMs: 0,
  recoveredAt: 0,
  reasons: {},
});

/** A client's connection, which is opened when work needs it */
class Seat {
  connection: Connection | undefined;
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async taken(): Promise<Connection> {
    if (this.connection?.closed) this.connection = undefined;
    return (this.connection ??= await this.#connections.open());
  }

  async giveUp(): Promise<void> {
    const { connection } = this;
    this.connection = undefined;
    if (connection) await this.#connections.giveUp(connection);
  }

  async close(): Promise<void> {
    const { connection } = this;
    this.connection = undefined;
    await connection?.close();
  }
}

/** Clients that ask without a pause for what the fleet has, and try again what failed */
export class Load {
  readonly #connections: Connections;
  readonly #site: Site;
  readonly #loops: Promise<void>[];
  #work = emptyWork();
  #running = true;
  downloads: DownloadCounts = { bytes: 0, lost: 0, repeated: 0, resumed: 0 };

  constructor(connections: Connections, site: Site) {
    this.#connections = connections;
    this.#site = site;
    this.#loops = workKinds.flatMap((kind) => Array.from({ length: clients[kind] }, () => this.#loop(kind)));
  }

  /** Returns what was done since the last call. */
  takeWork(): Record<WorkKind, WorkCounts> {
    const work = this.#work;
    this.#work = emptyWork();
    return work;
  }

  takeDownloads(): DownloadCounts {
    const { downloads } = this;
    this.downloads = { bytes: 0, lost: 0, repeated: 0, resumed: 0 };
    return downloads;
  }

  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#loops);
  }

  async #loop(kind: WorkKind): Promise<void> {
    const seat = new Seat(this.#connections);
    while (this.#running) {
      await this.#untilDone(kind, seat);
      await sleep(pauses[kind]);
    }
    await seat.close();
  }

  async #untilDone(kind: WorkKind, seat: Seat): Promise<void> {
    const began = performance.now();
    const download = { offset: 0 };
    for (let failed = false; this.#running; failed = true) {
      try {
        await this.#attempt(kind, seat, download);
        const counts = this.#work[kind];
        counts.done += 1;
        counts.longestMs = Math.max(counts.longestMs, Math.round(performance.now() - began));
        if (failed) counts.recoveredAt = performance.now();
        return;
      } catch (error) {
        this.#failed(kind, seat, error);
        await seat.giveUp();
        await sleep(retryMs);
      }
    }
  }

  async #attempt(kind: WorkKind, seat: Seat, download: { offset: number }): Promise<void> {
    const connection = await seat.taken();
    if (kind === 'downloads') return downloadOnce(connection, this.#site.large, download, () => this.downloads);
    const body = await connection.get(kind === 'backends' ? '/backend/small' : '/small');
    if (!body.equals(this.#site.small)) throw new Error('the response has other bytes');
    if (kind === 'connects') await seat.close();
  }

  #failed(kind: WorkKind, { connection }: Seat, error: unknown): void {
    const counts = this.#work[kind];
    counts.failed += 1;
    if (connection?.gatewayLives) counts.failedAtLiving += 1;
    const reason = reasonOf(error);
    if (Object.keys(counts.reasons).length < maxReasons || reason in counts.reasons)
      counts.reasons[reason] = (counts.reasons[reason] ?? 0) + 1;
  }
}

function emptyWork(): Record<WorkKind, WorkCounts> {
  return { files: noWork(), backends: noWork(), connects: noWork(), downloads: noWork() };
}

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? `${code}: ${error.message}` : error.message;
};
