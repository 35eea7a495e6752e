import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { ListenAddresses } from '../values/scalars.js';
import type { SharedUdp } from '../values/shared_udp.js';

/** UDP sockets of all workers at the addresses of one listener */
export class UdpGroup {
  private constructor(readonly port: number) {}

  /** Rejects with the system's error. */
  static async open({ address, port }: ListenAddresses): Promise<UdpGroup> {
    const probe = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    probe.bind(port, address);
    await once(probe, 'listening');
    const { port: bound } = probe.address();
    await new Promise<void>((resolve) => probe.close(() => resolve()));
    return new UdpGroup(bound);
  }

  /** Returns the sockets of one worker. */
  of(index: number): SharedUdp {
    return { index, port: this.port };
  }

  close(): void {
    // The workers close their sockets.
  }
}
