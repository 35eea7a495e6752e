/** Receives the events of the page's streams, for drawing and counting. */
export interface TrafficObserver {
  opened(slot: number): void;
  sent(slot: number, bytes: number): void;
  returned(slot: number, bytes: number): void;
  ended(slot: number, ok: boolean): void;
}

type OpenStream = () => Promise<{
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<BufferSource>;
}>;

const CHUNK = new Uint8Array(16_384);
const SMALL_BYTES = 32_768;
// A burst is divided into portions, so that all streams take part in it.
const PORTION_BYTES = 262_144;
// Eight streams of 32 KB make about 4 Mbit/s, which is visible and burdens nobody.
const REST_MS = 450;

/** Keeps `parallel` streams busy: each sends some bytes, waits for them to return, and rests. */
export class Traffic {
  parallel = 8;
  paused = false;

  private readonly busy = new Set<number>();
  private pending = 0;

  constructor(
    private readonly openStream: OpenStream,
    private readonly observer: TrafficObserver,
  ) {}

  /** Starts streams that are missing, as long as the page is open. */
  start(active: () => boolean): void {
    setInterval(() => {
      if (!active() || this.paused) return;
      for (let slot = 0; slot < this.parallel; slot += 1) {
        if (!this.busy.has(slot)) void this.exchange(slot);
      }
    }, 50);
  }

  /** Sends these bytes at once, divided among the streams. */
  burst(bytes: number): void {
    this.pending += bytes;
  }

  private async exchange(slot: number): Promise<void> {
    this.busy.add(slot);
    const share = Math.min(this.pending, PORTION_BYTES);
    this.pending -= share;
    const hurried = share > 0;
    try {
      const stream = await this.openStream();
      this.observer.opened(slot);
      await Promise.all([this.send(slot, stream.writable, share + SMALL_BYTES), this.receive(slot, stream.readable)]);
      this.observer.ended(slot, true);
    } catch {
      this.observer.ended(slot, false);
    }
    // Randomizes the rest on purpose, so that the stalks do not all light up at the same time.
    if (!hurried) await new Promise((resolve) => setTimeout(resolve, REST_MS * (0.6 + Math.random())));
    this.busy.delete(slot);
  }

  private async send(slot: number, writable: WritableStream<BufferSource>, bytes: number): Promise<void> {
    const writer = writable.getWriter();
    for (let left = bytes; left > 0; left -= CHUNK.length) {
      const chunk = CHUNK.subarray(0, left);
      await writer.ready;
      await writer.write(chunk);
      this.observer.sent(slot, chunk.length);
    }
    await writer.close();
  }

  private async receive(slot: number, readable: ReadableStream<Uint8Array>): Promise<void> {
    for await (const chunk of readable) this.observer.returned(slot, chunk.length);
  }
}
