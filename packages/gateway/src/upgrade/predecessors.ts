import { Socket } from 'node:net';
import { UserError } from '../errors/user_error.js';
import { ControlChannel } from './control_channel.js';
import type { Share } from './descriptor_table.js';
import type { Hello } from './messages.js';
import { successorVariable } from './successor_variable.js';

interface Predecessor {
  generation: number;
  descriptor: number;
  channel: ControlChannel;
}

/** Earlier processes whose connections have not ended. Each ends its channel when it ends. */
export class Predecessors {
  readonly #living = new Set<Predecessor>();

  get count(): number {
    return this.#living.size;
  }

  add({ generation, control }: Hello['predecessors'][number], channel = channelOf(control)): void {
    const predecessor = { generation, descriptor: control, channel };
    this.#living.add(predecessor);
    channel.unref();
    void channel.ended.then(() => {
      this.#living.delete(predecessor);
      channel.close();
    });
  }

  /** Tells a successor how to talk to them. */
  describe(share: Share): Hello['predecessors'] {
    return [...this.#living].map(({ generation, descriptor }) => ({ generation, control: share(descriptor) }));
  }

  /** Makes all of them drain. Resolves once they have ended. */
  async drain(): Promise<void> {
    const all = [...this.#living];
    for (const { channel } of all) channel.send({ type: 'drain' });
    await Promise.all(all.map(({ channel }) => channel.ended));
  }
}

/** @throws UserError when it is no socket */
export function channelOf(descriptor: number): ControlChannel {
  try {
    return new ControlChannel(new Socket({ fd: descriptor, readable: true, writable: true }));
  } catch (cause) {
    throw new UserError('UPGRADE_REFUSED', 'there is no process to take over from', {
      hint: `remove ${successorVariable} from the environment`,
      cause,
    });
  }
}
