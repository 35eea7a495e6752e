import { ReadableStream, type ReadableStreamDefaultController } from 'node:stream/web';

/**
 * A readable stream whose items wait outside it until somebody reads, so that they can be counted, bounded and dropped.
 * `give` makes the item that the reader sees. Once the reader has left, items go to `refuse`.
 */
export class WaitingItems<Item, Given> {
  readonly readable: ReadableStream<Given>;
  private waiting: Item[] = [];
  private wanted = false;
  private over = false;
  private controller!: ReadableStreamDefaultController<Given>;

  constructor(
    private readonly give: (item: Item) => Given,
    private readonly refuse: (item: Item) => void,
  ) {
    this.readable = new ReadableStream<Given>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        pull: () => this.deliver(),
        cancel: () => {
          this.over = true;
          for (const item of this.waiting.splice(0)) this.refuse(item);
        },
      },
      { highWaterMark: 0 },
    );
  }

  get length(): number {
    return this.waiting.length;
  }

  add(item: Item): void {
    if (this.over) return this.refuse(item);
    this.waiting.push(item);
    if (this.wanted) this.deliver();
  }

  /** Takes the first item that `fits` out of the queue. */
  drop(fits: (item: Item) => boolean): Item | undefined {
    const index = this.waiting.findIndex(fits);
    return index < 0 ? undefined : this.waiting.splice(index, 1)[0];
  }

  /** Ends the readable stream and forgets the items that wait. */
  end(): void {
    if (this.over) return;
    this.over = true;
    this.waiting = [];
    this.controller.close();
  }

  private deliver(): void {
    this.wanted = this.waiting.length === 0;
    if (!this.wanted) this.controller.enqueue(this.give(this.waiting.shift()!));
  }
}
