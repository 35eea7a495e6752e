import { EventEmitter } from 'node:events';
import type { ChannelGroupWriter, LeaveReason, ReceivedGroup } from '@sheaf/native';

/** A group of a channel in memory, which any number of receivers read from its beginning */
class MemoryGroup {
  readonly #parts: Buffer[] = [];
  #ended = false;
  #failure: Error | undefined;
  #wake: (() => void)[] = [];

  constructor(readonly id: number) {}

  write(part: Uint8Array): void {
    this.#parts.push(Buffer.from(part));
    this.#notify();
  }
  end(): void {
    this.#ended = true;
    this.#notify();
  }
  fail(error: Error): void {
    this.#failure = error;
    this.#notify();
  }

  async *read(): AsyncGenerator<Buffer, void, undefined> {
    for (let index = 0; ; index += 1) {
      while (index >= this.#parts.length) {
        if (this.#failure) throw this.#failure;
        if (this.#ended) return;
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      }
      yield this.#parts[index]!;
    }
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** A channel in memory whose receivers decide by themselves which groups they hear. */
export class MemoryChannel {
  readonly groups: MemoryGroup[] = [];
  readonly #receivers = new Set<MemoryReceiver>();

  openGroup(): ChannelGroupWriter {
    const group = new MemoryGroup(this.groups.length * 4 + 3);
    this.groups.push(group);
    for (const receiver of this.#receivers) receiver.hear(group.id);
    return {
      id: group.id,
      write: (bytes) => Promise.resolve(group.write(bytes)),
      end: () => Promise.resolve(group.end()),
    };
  }

  /** Joins; begins with the newest group. */
  join(): MemoryReceiver {
    const receiver = new MemoryReceiver(this.groups);
    this.#receivers.add(receiver);
    const newest = this.groups.at(-1);
    if (newest) setImmediate(() => receiver.hear(newest.id));
    return receiver;
  }
}

export class MemoryReceiver extends EventEmitter<{
  group: [group: ReceivedGroup];
  state: [state: never, joinError: string];
  close: [reason: LeaveReason | undefined];
}> {
  constructor(private readonly groups: readonly MemoryGroup[]) {
    super();
  }

  hear(id: number): void {
    const group = this.groups.find((each) => each.id === id)!;
    this.emit('group', Object.assign(group.read(), { id }));
  }

  end(): void {
    this.emit('close', undefined);
  }
}
