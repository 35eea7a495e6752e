import { closeSync } from 'node:fs';
import { createDatagramPair } from '@sheaf/native';
import type { Share } from '../upgrade/descriptor_table.js';
import type { SocketInheritance, SocketUse } from '../upgrade/messages.js';
import type { OpenSockets } from './open_sockets.js';

/** What a successor may take over of the sockets of a node */
export interface SocketLegacy {
  sockets: Partial<Record<SocketUse, SocketInheritance>>;
  /** Reads no more from the sockets that the successor took. Its connections get their datagrams over the links. */
  commit(took: readonly SocketUse[]): void;
  /** Closes what was opened for a successor that does not take over. */
  abandon(): void;
}

/** Sockets that are offered to a successor, with a link for the datagrams of connections that stay here */
export class Bequeathed {
  readonly #sockets: OpenSockets;
  readonly #link: [ours: number, theirs: number] | undefined;

  constructor(sockets: OpenSockets) {
    this.#sockets = sockets;
    if (sockets.udp) this.#link = createDatagramPair();
  }

  describe(share: Share): SocketInheritance {
    const { configured, address, tcp, udp } = this.#sockets;
    const shareAll = (all: readonly (readonly number[])[]): number[][] => all.map((each) => each.map(share));
    const described = { configured, address: { further: [], ...address }, tcp: shareAll(tcp) };
    if (!udp || !this.#link) return described;
    const { descriptors, key, links } = udp.inheritance();
    return {
      ...described,
      udp: { descriptors: shareAll(descriptors), key, links: [...links, this.#link[1]].map(share) },
    };
  }

  passOn(): void {
    if (!this.#link) return;
    const [ours, theirs] = this.#link;
    closeSync(theirs);
    this.#sockets.udp?.passTo(ours);
  }

  close(): void {
    this.#link?.forEach((each) => closeSync(each));
  }
}
