import { EventEmitter } from 'node:events';
import type { ChannelGroupWriter, LeaveReason, ReceivedGroup } from '@sheaf/native';
import { Wakeup } from '@sheaf/web-client/wakeup';

/** A group of a channel in memory, which any number of receivers read from its beginning */
class MemoryGroup {
  readonly parts: Buffer[] = [];
  ended = false;
  readonly #changed = new Wakeup();

  constructor(readonly id: number) {}

  write(part: Uint8Array): void {
    this.parts.push(Buffer.from(part));
    this.#changed.notify();
  }
  end(): void {
    this.ended = true;
    this.#changed.notify();
  }

  /** Returns the bytes for a reader, whom `lost` tells that no more come. */
  async *read(lost: Promise<never>): AsyncGenerator<Buffer, void, undefined> {
    for (let index = 0; ; index += 1) {
      while (index >= this.parts.length) {
        if (this.ended) return;
        await Promise.race([this.#changed.wait(), lost]);
      }
      yield this.parts[index]!;
    }
  }
}

/** A channel in memory whose receivers decide by themselves which groups they hear. */
export class MemoryChannel {
  readonly groups: MemoryGroup[] = [];
  readonly #receivers = new Set<MemoryReceiver>();

  openGroup(): ChannelGroupWriter {
    const group = new MemoryGroup(this.groups.length * 4 + 3);
    this.groups.push(group);
    for (const receiver of this.#receivers) receiver.begin(group.id);
    return {
      id: group.id,
      write: async (bytes) => group.write(bytes),
      end: async () => group.end(),
      reset: async () => group.end(),
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
  close: [reason: LeaveReason | undefined];
}> {
  /** Groups that were begun since `hold` */
  readonly held: number[] = [];
  #holds = false;
  #lose: (error: Error) => void = () => undefined;

  constructor(private readonly groups: readonly MemoryGroup[]) {
    super();
  }

  /** The source has begun a group. */
  begin(id: number): void {
    if (this.#holds) this.held.push(id);
    else this.hear(id);
  }

  /** Hears no group until the test says so. */
  hold(): void {
    this.#holds = true;
  }

  hear(id: number): void {
    const lost = new Promise<never>((_, reject) => {
      this.#lose = reject;
    });
    lost.catch(() => undefined);
    this.emit('group', Object.assign(this.groups.find((each) => each.id === id)!.read(lost), { id }));
  }

  /** Loses the rest of the newest group, and the channel as well if it `isOver`. */
  lose(error: Error, { isOver = true } = {}): void {
    this.#lose(error);
    if (isOver) this.emit('close', undefined);
  }
}
