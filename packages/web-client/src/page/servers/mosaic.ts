import type { ResponsePart } from '../../protocol/index.js';
import type { Pictures } from './picture_loader.js';
import { markOf, nameOf } from './server_marks.js';
import { serverOf } from './tally.js';

/** Shows the picture, and on each of its pieces the servers that sent it. */
export class Mosaic {
  private readonly context: CanvasRenderingContext2D;
  private readonly places: readonly HTMLElement[];

  constructor(
    canvas: HTMLCanvasElement,
    overlay: HTMLElement,
    private readonly pictures: Pictures,
  ) {
    const { columns, rows, edge } = pictures;
    canvas.width = columns * edge;
    canvas.height = rows * edge;
    this.context = canvas.getContext('2d')!;
    overlay.style.setProperty('--columns', String(columns));
    this.places = Array.from({ length: columns * rows }, () => document.createElement('li'));
    overlay.replaceChildren(...this.places);
  }

  setState(place: number, state: 'requested' | 'verified' | 'failed'): void {
    this.places[place]!.dataset['state'] = state;
  }

  setProgress(place: number, share: number): void {
    this.places[place]!.style.setProperty('--progress', share.toFixed(3));
  }

  draw(place: number, piece: ImageBitmap): void {
    const { columns, edge } = this.pictures;
    this.context.drawImage(piece, (place % columns) * edge, Math.floor(place / columns) * edge);
    piece.close();
    this.setState(place, 'verified');
  }

  /** Clears the senders of a piece, since a new one is being loaded. */
  forgetSenders(place: number): void {
    const element = this.places[place]!;
    element.removeAttribute('title');
    element.style.removeProperty('--senders');
    this.setProgress(place, 0);
  }

  showSenders(place: number, parts: readonly ResponsePart[]): void {
    const element = this.places[place]!;
    const all = parts.reduce((sum, { bytes }) => sum + bytes, 0);
    if (all === 0) return;
    let before = 0;
    const stops = parts.map(({ bytes, ...part }) => {
      const from = before;
      before += bytes;
      return `var(--${markOf(serverOf({ bytes, ...part }))}) ${share(from, all)} ${share(before, all)}`;
    });
    element.style.setProperty('--senders', `linear-gradient(to right, ${stops.join(', ')})`);
    element.title = parts.map((part) => `${part.bytes} bytes from ${nameOf(serverOf(part))}`).join(', then ');
    element.dataset['senders'] = parts.map((part) => String(serverOf(part))).join(' ');
  }
}

const share = (bytes: number, all: number): string => `${((100 * bytes) / all).toFixed(1)}%`;
