import { duplicateDescriptor } from '@sheaf/native';
import type { KeptSockets } from '../nodes/front/given_sockets.js';
import type { LoadedServer } from '../schema/loaded.js';
import { listeningOf, type ListeningConfiguration } from '../schema/listening.js';
import type { Prepared } from '../nodes/life/reload.js';
import type { TakenSockets } from '../upgrade/taken_sockets.js';
import { NodeSockets, type OpenedSockets, type SocketsPreparation } from './node_sockets.js';

/** The sockets of a node that the main thread serves: those of a single worker */
export class MainSockets implements KeptSockets {
  readonly #sockets = new NodeSockets();
  /** What the latest preparation opened */
  #opened!: OpenedSockets;

  /** Opens all sockets, or takes those of an earlier process. @throws UserError when a port is not available */
  static async open(loaded: LoadedServer, taken: TakenSockets | undefined): Promise<MainSockets> {
    const sockets = new MainSockets();
    (await sockets.#prepare(listeningOf(loaded), { drainMs: 0, taken })).commit();
    return sockets;
  }

  prepare(configuration: ListeningConfiguration, drainMs: number): Promise<Prepared> {
    return this.#prepare(configuration, { drainMs });
  }

  takeTcp(use: 'listen' | 'http'): ReturnType<KeptSockets['takeTcp']> {
    const { descriptors, port } = known(this.#opened.of(0).tcp[use]);
    return descriptors.map((each) => ({ descriptor: duplicateDescriptor(each), port }));
  }

  udp(use: 'listen' | 'backbone'): ReturnType<KeptSockets['udp']> {
    return known(this.#opened.of(0).udp[use]);
  }

  named(node: string): [name: string, descriptor: number][] {
    return this.#sockets.named(node);
  }

  stopListening(): void {
    this.#sockets.stopListening();
  }

  close(): Promise<void> {
    return this.#sockets.close();
  }

  async #prepare(configuration: ListeningConfiguration, preparation: SocketsPreparation): Promise<Prepared> {
    const { opened, ...prepared } = await this.#sockets.prepare(configuration, preparation);
    this.#opened = opened;
    return prepared;
  }
}

function known<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('there are no sockets for this node');
  return value;
}
