import type { Http3Client, PathStatus } from '@sheaf/native';

/** Interval in milliseconds at which the paths are looked at */
const lookMs = 250;
/** A connection is silent after three probe timeouts, or after so many milliseconds where these are longer. */
const longestMs = 2_000;
/** Time in milliseconds that a peer may take to acknowledge (RFC 9000 §18.2, max_ack_delay) */
const maxAckDelayMs = 25;

/** Hears of the silence of a connection. */
export interface SilenceListener {
  /** Nothing was acknowledged since `since`, a time of `performance.now()`, although something was sent. */
  onSilent(since: number): void;
  /** Something was acknowledged after all. */
  onHeard(): void;
  /** Called at every look while the connection is not silent. */
  onLook(): void;
}

/** Tells when nothing comes back on any path of a connection. A path alone is what the connection itself takes care of. */
export class SilenceWatch {
  readonly #client: Pick<Http3Client, 'status'>;
  readonly #listener: SilenceListener;
  readonly #timer: NodeJS.Timeout;
  #since: number | undefined;
  #told = false;

  constructor(client: Pick<Http3Client, 'status'>, listener: SilenceListener, now = () => performance.now()) {
    this.#client = client;
    this.#listener = listener;
    this.#timer = setInterval(() => this.look(now()), lookMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  look(now: number): void {
    const open = this.#client.status().paths.filter(({ state }) => state !== 'abandoned');
    // A silence is over when something is heard, and not when the silent path is abandoned.
    if (
      open.some(({ state }) => state === 'active') ||
      (!this.#told && open.every(({ state }) => state !== 'silent'))
    ) {
      this.#since = undefined;
      if (this.#told) {
        this.#told = false;
        this.#listener.onHeard();
      }
      this.#listener.onLook();
      return;
    }
    this.#since ??= now;
    if (this.#told || now - this.#since < patience(open)) return;
    this.#told = true;
    this.#listener.onSilent(this.#since);
  }
}

/** Milliseconds that are left of three probe timeouts (RFC 9002 §6.2.1) when the first one has passed. */
function patience(paths: readonly PathStatus[]): number {
  const timeouts = paths.map(({ smoothedRttMs, rttVarianceMs }) => smoothedRttMs + 4 * rttVarianceMs + maxAckDelayMs);
  return Math.min(2 * Math.max(...timeouts), longestMs);
}
