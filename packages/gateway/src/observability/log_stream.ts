import { write, writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

/** Maximum of bytes that wait while a disk is full, or while the reader of standard error is slow or gone */
const maxWaitingBytes = 1024 * 1024;
/** Interval at which writing is tried again */
const retryMs = 100;

let droppedLines = 0;

const streams = new Set<LogStream>();
process.once('exit', () => {
  for (const stream of streams) stream.writeRest();
});

/** Returns the number of lines that could not be written, over all logs of this process. */
export function logLinesDropped(): number {
  return droppedLines;
}

/**
 * Writes lines to a file descriptor in whole batches, one at a time, and never ends the process. Failed writes are
 * tried again. Beyond 1 MiB, lines are dropped and counted; `onMissing` receives their number once writing works again.
 * pino's own destination stops for good at EPIPE, throws for ENOSPC, and never ends its last flush on a full disk.
 */
export class LogStream implements DestinationStream {
  readonly #fd: number;
  readonly #onMissing: (lines: number) => void;
  #lines: string[] = [];
  #batch: Buffer = Buffer.alloc(0);
  #waitingBytes = 0;
  /** Whether a batch is being written, or waits to be tried again */
  #busy = false;
  #underWay = false;
  #flushing: (() => void)[] = [];
  #missing = 0;

  constructor(fd: number, onMissing: (lines: number) => void) {
    this.#fd = fd;
    this.#onMissing = onMissing;
    streams.add(this);
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#waitingBytes + bytes > maxWaitingBytes) {
      droppedLines += 1;
      this.#missing += 1;
      return;
    }
    this.#lines.push(line);
    this.#waitingBytes += bytes;
    if (!this.#busy) this.#next();
  }

  /** Calls `done` when everything was written, or cannot be written. */
  flush(done: () => void): void {
    this.#flushing.push(done);
    if (!this.#underWay) this.#endFlush();
  }

  /** Writes the rest at the end of the process, when nothing can wait any more. */
  writeRest(): void {
    if (this.#underWay) this.#batch = Buffer.alloc(0);
    try {
      this.#takeBatch();
      while (this.#batch.length > 0) {
        this.#batch = this.#batch.subarray(writeSync(this.#fd, this.#batch));
        this.#takeBatch();
      }
    } catch {
      // There is nobody left to inform.
    }
  }

  #next(): void {
    this.#takeBatch();
    this.#busy = this.#batch.length > 0;
    this.#underWay = this.#busy;
    if (this.#busy) write(this.#fd, this.#batch, (error, bytes) => this.#onWritten(error, bytes));
    else this.#endFlush();
  }

  #endFlush(): void {
    for (const done of this.#flushing.splice(0)) done();
  }

  #onWritten(error: Error | null, bytes: number): void {
    this.#underWay = false;
    if (error) {
      this.#endFlush();
      setTimeout(() => this.#next(), retryMs).unref();
      return;
    }
    this.#batch = this.#batch.subarray(bytes);
    this.#waitingBytes -= bytes;
    if (this.#missing > 0 && this.#batch.length === 0) {
      const lines = this.#missing;
      this.#missing = 0;
      this.#onMissing(lines);
    }
    this.#next();
  }

  #takeBatch(): void {
    if (this.#batch.length > 0) return;
    this.#batch = Buffer.from(this.#lines.join(''));
    this.#lines = [];
  }
}
