import { decodePong, encodePing } from '../protocol/index.js';

/** The datagrams of a WebTransport session */
export interface Datagrams {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable?: WritableStream<Uint8Array>;
  createWritable?(): WritableStream<Uint8Array>;
}

const TICK_MS = 1_000;
// Less than half of QUIC's usual idle timeout of 30 s, and of the 30 s after which browsers stop an idle worker.
const IDLE_PING_MS = 12_000;
// With 30 % loss in each direction, eight pings in a row are lost once in 200 times. Even then, streams would have to
// be silent as well, since their data also counts as a sign of life.
const DEAD_AFTER_MS = 8_000;

/**
 * Detects a session whose gateway disappeared silently. While a response is expected, it pings every second; otherwise
 * it keeps the connection from going idle.
 */
export class Heartbeat {
  /** Latest measured round-trip time, in milliseconds */
  roundTripMs: number | undefined;

  private readonly writer: WritableStreamDefaultWriter<Uint8Array> | undefined;
  private readonly timer: ReturnType<typeof setInterval>;
  private expected = 0;
  private waitingSince = 0;
  private lastHeard: number;
  private lastPing: number;

  constructor(
    datagrams: Datagrams,
    private readonly onDead: () => void,
  ) {
    this.lastHeard = this.lastPing = performance.now();
    this.writer = (datagrams.createWritable?.() ?? datagrams.writable)?.getWriter();
    this.writer?.closed.catch(() => undefined);
    this.timer = setInterval(() => this.tick(), TICK_MS);
    void this.readPongs(datagrams.readable.getReader());
    this.ping();
  }

  /** Adds an expected response. */
  expect(): void {
    if (this.expected === 0) this.waitingSince = performance.now();
    this.expected += 1;
  }

  /** Removes an expected response. */
  done(): void {
    this.expected -= 1;
  }

  /** Notes that the gateway has sent something. */
  heard(): void {
    this.lastHeard = performance.now();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private tick(): void {
    const now = performance.now();
    if (this.expected > 0) {
      if (now - Math.max(this.lastHeard, this.waitingSince) > DEAD_AFTER_MS) {
        this.stop();
        this.onDead();
        return;
      }
      this.ping();
    } else if (now - this.lastPing >= IDLE_PING_MS) {
      this.ping();
    }
  }

  private ping(): void {
    this.lastPing = performance.now();
    // Microseconds since the worker's start are unique, and the response then tells the round-trip time.
    this.writer?.write(encodePing(Math.round(this.lastPing * 1000))).catch(() => undefined);
  }

  private async readPongs(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const identifier = decodePong(value);
        if (identifier === undefined) continue;
        this.heard();
        this.roundTripMs = performance.now() - identifier / 1000;
      }
    } catch {
      // The session ended, which its owner knows.
    }
  }
}
