import { createHash } from 'node:crypto';
import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** What two workers of a node say to each other */
type LinkMessage = { opens: string } | { closes: string } | { use: string; port: MessagePort };

/** Takes a port to another worker. One of the two ends is the first. */
export type TakePort = (port: MessagePort, isFirst: boolean) => void;

/** Time in milliseconds after which a port is made again that a part closed by itself, such as one that was told nonsense */
const pauseMs = 10_000;

const afterPause = (act: () => void): void => void setTimeout(act, pauseMs).unref();

/** One run of another worker */
interface Peer {
  /** Whether the other worker is the one that makes ports */
  makes: boolean;
  port: MessagePort;
  /** What the other worker has open */
  opens: Set<string>;
  /** The port of each use that both have open */
  ports: Map<string, MessagePort>;
}

/** Connects parts of this worker, such as routes, to the same parts of the others. */
export class WorkerLinks {
  readonly #peers = new Map<number, Peer>();
  readonly #uses = new Map<string, TakePort>();

  constructor(
    /** Number of this worker, and the id that all workers of the node have until the process ends */
    private readonly own: { index: number; process: Uint8Array },
    /** Calls a function after a pause. */
    private readonly later = afterPause,
  ) {}

  /** Returns bytes that are the same at all workers of this process, and nowhere else. */
  idOf(use: string): Buffer {
    return createHash('sha256').update(this.own.process).update(use).digest();
  }

  /** Takes the port to a worker that has started, also in the place of another one. */
  connect(worker: number, port: MessagePort): void {
    const before = this.#peers.get(worker);
    for (const each of before ? [before.port, ...before.ports.values()] : []) each.close();
    const peer: Peer = { makes: worker < this.own.index, port, opens: new Set(), ports: new Map() };
    this.#peers.set(worker, peer);
    port.on('message', (message: LinkMessage) => this.#take(peer, message));
    port.once('close', () => peer.opens.clear());
    // Nothing here is a reason for the thread to go on.
    port.unref();
    for (const use of this.#uses.keys()) port.postMessage({ opens: use } satisfies LinkMessage);
  }

  /**
   * Calls `take` with a port to each worker that opens the same use, also later, and with another one a while after an end of it was
   * closed. A port whose other end is gone is closed. Returns a function that ends this, and closes the ports.
   */
  open(use: string, take: TakePort): () => void {
    this.#close(use);
    this.#uses.set(use, take);
    for (const peer of this.#peers.values()) {
      peer.port.postMessage({ opens: use } satisfies LinkMessage);
      this.#join(peer, use);
    }
    return () => {
      if (this.#uses.get(use) === take) this.#close(use);
    };
  }

  #close(use: string): void {
    if (!this.#uses.delete(use)) return;
    for (const peer of this.#peers.values()) {
      peer.port.postMessage({ closes: use } satisfies LinkMessage);
      this.#forget(peer, use);
    }
  }

  #take(peer: Peer, message: LinkMessage): void {
    if ('opens' in message) {
      peer.opens.add(message.opens);
      this.#join(peer, message.opens);
    } else if ('closes' in message) {
      peer.opens.delete(message.closes);
      this.#forget(peer, message.closes);
    } else this.#use(peer, message.use, message.port, false);
  }

  /** Makes the port of a use that both have open. One of the two does. */
  #join(peer: Peer, use: string): void {
    if (peer.makes || !peer.opens.has(use) || !this.#uses.has(use)) return;
    const { port1, port2 } = new MessageChannel();
    peer.port.postMessage({ use, port: port2 } satisfies LinkMessage, [port2]);
    this.#use(peer, use, port1, true);
  }

  /** A use that was closed and opened again may get the port from before, and another one right after. */
  #use(peer: Peer, use: string, port: MessagePort, isFirst: boolean): void {
    const take = this.#uses.get(use);
    this.#forget(peer, use);
    if (!take) {
      port.close();
      return;
    }
    peer.ports.set(use, port);
    port.once('close', () => this.#lose(peer, use, port));
    take(port, isFirst);
  }

  /** Makes a port again that closed although both workers have the use open. */
  #lose(peer: Peer, use: string, port: MessagePort): void {
    if (peer.ports.get(use) !== port) return;
    peer.ports.delete(use);
    this.later(() => {
      if (!peer.ports.has(use)) this.#join(peer, use);
    });
  }

  #forget(peer: Peer, use: string): void {
    peer.ports.get(use)?.close();
    peer.ports.delete(use);
  }
}
