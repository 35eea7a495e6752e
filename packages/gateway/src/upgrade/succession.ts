import { closeSync } from 'node:fs';
import { refusalOf } from '../errors/refusal.js';
import { UserError } from '../errors/user_error.js';
import { version } from '../values/version.js';
import type { ControlChannel } from './control_channel.js';
import {
  controlDescriptor,
  goMessage,
  helloMessage,
  type Hello,
  type NodeInheritance,
  type SocketUse,
} from './messages.js';
import { channelOf, Predecessors } from './predecessors.js';
import { socketNames } from './socket_names.js';
import { TakenSockets } from './taken_sockets.js';

/** A process that takes over from another one, from its start until it serves */
export class Succession {
  /** Number of this process in the row of upgrades */
  readonly generation: number;
  readonly predecessors = new Predecessors();
  #begin: () => void = () => undefined;
  /** Resolves when the nodes of this process serve. */
  readonly began = new Promise<void>((resolve) => (this.#begin = resolve));
  readonly #hello: Hello;
  readonly #channel: ControlChannel;
  readonly #taken = new Map<string, TakenSockets>();

  private constructor(hello: Hello, channel: ControlChannel) {
    this.#hello = hello;
    this.#channel = channel;
    this.generation = hello.generation;
    for (const predecessor of hello.predecessors) this.predecessors.add(predecessor);
  }

  /** Reads what the process before leaves to this one. @throws UserError */
  static async receive(): Promise<Succession> {
    const channel = channelOf(controlDescriptor);
    const hello = await channel.next(helloMessage).catch((cause: unknown) => {
      const error = new UserError('UPGRADE_REFUSED', `version ${version} does not take over from the one that runs`, {
        hint: 'restart the node',
        cause,
      });
      channel.send({ type: 'refused', refusal: refusalOf(error) });
      throw error;
    });
    return new Succession(hello, channel);
  }

  /** Returns what a node gets; undefined for one that the process before does not have. */
  nodeOf(name: string): NodeInheritance | undefined {
    return this.#hello.nodes.find((node) => node.name === name);
  }

  /** Names of the sockets that the service manager keeps for the process before */
  get storedNames(): string[] {
    return this.#hello.nodes.flatMap(({ name: node, sockets }) =>
      Object.entries(sockets).flatMap(([use, { configured, tcp, udp }]) => {
        const places = { node, use: use as SocketUse, configured };
        const names = socketNames(places, { tcp, udp: udp?.descriptors ?? [] });
        return [...names.tcp.flat(), ...names.udp.flat()];
      }),
    );
  }

  /** Returns the sockets that a node may take over. */
  socketsOf(name: string): TakenSockets {
    const taken = new TakenSockets(this.nodeOf(name));
    this.#taken.set(name, taken);
    return taken;
  }

  /** Says that the nodes have started, and what they took. Resolves when they are to serve. @throws UserError when they are not */
  async ready(): Promise<void> {
    this.#closeRest();
    const took = [...this.#taken.values()].flatMap((each) => each.took);
    this.#channel.send({ type: 'ready', pid: process.pid, version, took });
    await this.#channel.next(goMessage).catch((cause: unknown) => {
      throw new UserError('UPGRADE_REFUSED', 'the process to take over from has ended, or wants none any more', {
        hint: 'it says why in its log',
        cause,
      });
    });
    const { generation } = this.#hello;
    this.predecessors.add({ generation: generation - 1, control: controlDescriptor }, this.#channel);
  }

  serving(): void {
    this.#begin();
    this.#channel.send({ type: 'serving' });
  }

  /** Says why this process does not take over. */
  refuse(error: unknown): void {
    this.#channel.send({ type: 'refused', refusal: refusalOf(error) });
  }

  /** Closes the sockets that no node has taken, and those of nodes that the configuration has no more. */
  #closeRest(): void {
    const gone = this.#hello.nodes.filter(({ name }) => !this.#taken.has(name));
    const rest = [...this.#taken.values(), ...gone.map((node) => new TakenSockets(node))].flatMap((each) => each.rest);
    for (const descriptor of rest) closeSync(descriptor);
  }
}
