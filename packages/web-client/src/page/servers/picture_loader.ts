import { RESPONSE_HEADER } from '../../protocol/index.js';
import { deliveryOf, type Delivery } from './delivery.js';

/** Content of `pictures.json`: each picture in pieces, with the SHA-256 of each piece */
export interface Pictures {
  readonly columns: number;
  readonly rows: number;
  /** Length of a piece's edge, in pixels */
  readonly edge: number;
  readonly pictures: readonly { readonly name: string; readonly pieces: readonly string[] }[];
}

/** Receives events of pieces. `place` counts from the upper left corner. */
export interface PieceEvents {
  requested(place: number): void;
  /**
   * Reports that the head of the response arrived. `id` is the id of its report, absent without an edge that shows
   * reports; `delivery` is how it travels, absent where nobody says so.
   */
  responded(place: number, id: number | undefined, delivery: Delivery | undefined): void;
  received(place: number, share: number): void;
  verified(place: number, piece: ImageBitmap, bytes: number): void;
  /** Reports a failure, after which the piece is requested again. */
  failed(place: number, reason: string): void;
  damaged(place: number): void;
  /** Reports a time without a byte of an awaited piece, in milliseconds. */
  waited(milliseconds: number): void;
}

const AGAIN_MS = 500;

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

interface WantedPiece {
  readonly place: number;
  readonly picture: string;
  readonly sha256: string;
}

/** Requests the pieces of one picture after the other, a few at a time, and verifies each of them. */
export class PictureLoader {
  /** Path before the name of the picture */
  prefix = '/pieces/';
  private readonly underway = new Set<number>();
  private resume: (() => void) | undefined;
  private resumed: Promise<void> | undefined;

  constructor(
    private readonly pictures: Pictures,
    private readonly parallel: number,
    private readonly events: PieceEvents,
  ) {}

  get paused(): boolean {
    return this.resumed !== undefined;
  }

  /** Pauses new requests. Requests in flight finish. */
  set paused(paused: boolean) {
    if (paused) this.resumed ??= new Promise((resolve) => (this.resume = resolve));
    else {
      this.resumed = undefined;
      this.resume?.();
    }
  }

  async run(): Promise<void> {
    const wanted = this.wanted();
    await Promise.all(Array.from({ length: this.parallel }, () => this.work(wanted)));
  }

  /** Yields the pieces of one picture after the other, column by column, without end. */
  private *wanted(): Generator<WantedPiece, never> {
    const { columns, rows, pictures } = this.pictures;
    for (;;) {
      for (const { name, pieces } of pictures) {
        for (let step = 0; step < columns * rows; step += 1) {
          const place = (step % rows) * columns + Math.floor(step / rows);
          yield { place, picture: name, sha256: pieces[place] ?? '' };
        }
      }
    }
  }

  private async work(wanted: Iterator<WantedPiece, never>): Promise<void> {
    for (;;) {
      await this.resumed;
      const { value } = wanted.next();
      // The piece of an earlier picture may still be in flight. Then this picture goes without it.
      if (this.underway.has(value.place)) continue;
      this.underway.add(value.place);
      await this.piece(value);
      this.underway.delete(value.place);
    }
  }

  /** Requests the piece until it is complete and correct. */
  private async piece({ place, picture, sha256 }: WantedPiece): Promise<void> {
    for (;;) {
      try {
        const bytes = await this.fetch(place, `${this.prefix}${picture}/${place}.png`);
        if ((await sha256Of(bytes)) === sha256) {
          this.events.verified(place, await createImageBitmap(new Blob([bytes])), bytes.length);
          return;
        }
        this.events.damaged(place);
      } catch (error) {
        this.events.failed(place, error instanceof Error ? error.message : String(error));
      }
      await pause(AGAIN_MS);
    }
  }

  private async fetch(place: number, url: string): Promise<Uint8Array<ArrayBuffer>> {
    this.events.requested(place);
    const clock = new WaitClock((milliseconds) => this.events.waited(milliseconds));
    const response = await fetch(url, { cache: 'no-store' });
    clock.heard();
    if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
    const id = response.headers.get(RESPONSE_HEADER);
    const delivery = deliveryOf(response.headers.get('server-timing'));
    this.events.responded(place, id === null ? undefined : Number(id), delivery);
    const bytes = new Uint8Array(Number(response.headers.get('content-length')));
    let received = 0;
    for await (const chunk of response.body) {
      clock.heard();
      if (received + chunk.length > bytes.length) throw new Error('more bytes than announced');
      bytes.set(chunk, received);
      received += chunk.length;
      this.events.received(place, received / bytes.length);
    }
    return bytes.subarray(0, received);
  }
}

/** Measures pauses without data. A page in the background would only measure its own timers. */
class WaitClock {
  private since = performance.now();
  private hidden = document.hidden;

  constructor(private readonly tell: (milliseconds: number) => void) {}

  heard(): void {
    const now = performance.now();
    if (!this.hidden && !document.hidden) this.tell(now - this.since);
    this.since = now;
    this.hidden = document.hidden;
  }
}

async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
