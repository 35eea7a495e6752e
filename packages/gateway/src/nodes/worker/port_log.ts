import type { DestinationStream } from 'pino';

/** Passes lines of a log to the thread that writes them: those of one turn of the event loop together. */
export class PortLog implements DestinationStream {
  readonly #pass: (lines: string) => void;
  #lines: string[] = [];

  constructor(pass: (lines: string) => void) {
    this.#pass = pass;
  }

  write(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length === 1) setImmediate(() => this.flush());
  }

  flush(done: () => void = () => undefined): void {
    const lines = this.#lines.splice(0);
    if (lines.length > 0) this.#pass(lines.join(''));
    done();
  }
}
