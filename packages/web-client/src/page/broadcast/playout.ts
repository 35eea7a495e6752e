import type { EncodedPicture } from './subscriber.js';
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

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext('2d', { alpha: false })!;
  }

  /** Begins with another broadcast, whose first picture is a key frame. */
  restart(codec: string, failed: (error: Error) => void): void {
    if (this.decoder?.state === 'configured') this.decoder.close();
    this.decoder = new VideoDecoder({ output: (picture) => this.plan(picture), error: failed });
    this.decoder.configure({ codec, optimizeForLatency: true });
  }

  decode({ index, timestamp, data }: EncodedPicture): void {
    if (this.decoder?.state !== 'configured') return;
    this.decoder.decode(new EncodedVideoChunk({ type: index === 0 ? 'key' : 'delta', timestamp, data }));
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
