import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

export interface LiveTreeOptions {
  /** Group that the tree leads to, and its port */
  group: { address: string; port: number };
  /** Address of this machine that packets of the group come from */
  source: string;
  /** Share of the packets that the tree loses, from 0 to 1 */
  loss: number;
  /** Returns a number from 0 to 1, excluding 1. */
  random(): number;
}

/** What the tree did with packets since its start */
export interface LiveTreeCounts {
  forwarded: number;
  /** Lost by chance */
  lost: number;
  /** Lost since the tree was cut */
  cut: number;
}

/**
 * The routers between the gateway and the edges of a demo, as one program: it gets each packet of a channel once and
 * sends it to the group. A tree that is cut drops everything and tells nobody, as a network does.
 */
export class LiveTree {
  readonly counts: LiveTreeCounts = { forwarded: 0, lost: 0, cut: 0 };
  isCut = false;
  readonly #options: LiveTreeOptions;
  readonly #trunk = createSocket('udp4');
  readonly #branches = createSocket('udp4');

  private constructor(options: LiveTreeOptions) {
    this.#options = options;
    this.#trunk.on('message', (packet) => this.#forward(packet));
    // A packet that the system refuses is lost, as in a router.
    this.#branches.on('error', () => undefined);
  }

  /** Starts the tree. Rejects with the system's error. */
  static async start(options: LiveTreeOptions): Promise<LiveTree> {
    const tree = new LiveTree(options);
    try {
      await bind(tree.#trunk, options.source);
      await bind(tree.#branches, options.source);
      tree.#branches.setMulticastInterface(options.source);
    } catch (error) {
      tree.close();
      throw error;
    }
    return tree;
  }

  /** Where the gateway sends packets */
  get relay(): { address: string; port: number } {
    const { address, port } = this.#trunk.address();
    return { address, port };
  }

  close(): void {
    this.#trunk.close();
    this.#branches.close();
  }

  #forward(packet: Buffer): void {
    const { group, loss, random } = this.#options;
    if (this.isCut) this.counts.cut += 1;
    else if (random() < loss) this.counts.lost += 1;
    else {
      this.counts.forwarded += 1;
      this.#branches.send(packet, group.port, group.address);
    }
  }
}

async function bind(socket: Socket, address: string): Promise<void> {
  const bound = once(socket, 'listening');
  socket.bind(0, address);
  await bound;
}
