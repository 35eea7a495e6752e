import type { EncodedPicture, Rendition } from './subscriber.js';
import { timeOfDay } from './session.js';

/** Milliseconds after which every picture is shown. In this time an edge notices that its tree is gone, and gets copies. */
export const DELAY_MS = 800;

/** Decodes pictures, and shows each at its time. */
export class Playout {
  shown = 0;
  /** Shown later than they should have been, since they were not here */
  late = 0;
  private readonly context: CanvasRenderingContext2D;
  private decoder: VideoDecoder | undefined;
  /** For pictures from the next key frame on */
  private next: Rendition | undefined;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext('2d', { alpha: false })!;
  }

  /** Begins with another broadcast. */
  restart(failed: (error: Error) => void): void {
    if (this.decoder && this.decoder.state !== 'closed') this.decoder.close();
    this.decoder = new VideoDecoder({ output: (picture) => this.plan(picture), error: failed });
  }

  /** Groups that begin from now on are encoded so. */
  describe(rendition: Rendition): void {
    this.next = rendition;
  }

  decode({ index, timestamp, data }: EncodedPicture): void {
    if (index === 0) this.configure();
    if (this.decoder?.state !== 'configured') return;
    this.decoder.decode(new EncodedVideoChunk({ type: index === 0 ? 'key' : 'delta', timestamp, data }));
  }

  private configure(): void {
    if (!this.next || !this.decoder || this.decoder.state === 'closed') return;
    const { codec, colorSpace } = this.next;
    this.decoder.configure({ codec, optimizeForLatency: true, ...(colorSpace && { colorSpace }) });
    this.next = undefined;
  }

  private plan(picture: VideoFrame): void {
    const wait = picture.timestamp / 1_000 + DELAY_MS - timeOfDay();
    if (wait > 0) {
      setTimeout(() => this.show(picture), wait);
      return;
    }
    this.late += 1;
    this.show(picture);
  }

  private show(picture: VideoFrame): void {
    const { displayWidth: width, displayHeight: height } = picture;
    if (this.canvas.width !== width) [this.canvas.width, this.canvas.height] = [width, height];
    this.context.drawImage(picture, 0, 0);
    picture.close();
    this.shown += 1;
  }
}
