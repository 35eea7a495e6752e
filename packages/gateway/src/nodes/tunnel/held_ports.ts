import { closeSync } from 'node:fs';
import { openBoundUdp, openSharedTcp } from '@sheaf/native';
import type { HeldPort } from '../../tunnel_client/held_port.js';
import type { Share } from '../../upgrade/descriptor_table.js';
import type { PortInheritance } from '../../upgrade/messages.js';
import type { TakenSockets } from '../../upgrade/taken_sockets.js';
import { canonicalText } from '../../values/canonical.js';
import type { ListenAddress } from '../../values/scalars.js';

type Held = HeldPort & Pick<PortInheritance, 'use' | 'configured'>;

/** The local ports of a tunnel node, which another process can take over */
export class HeldPorts {
  readonly #taken: TakenSockets | undefined;
  #held: Held[] = [];

  /** `taken`: those of the process before */
  constructor(taken: TakenSockets | undefined) {
    this.#taken = taken;
  }

  /** Takes a port of the process before, where programs may wait, or opens one. @throws an error of the system */
  open(use: PortInheritance['use'], wanted: ListenAddress): HeldPort {
    const configured = canonicalText(wanted);
    const held = this.#taken?.takePort(use, configured) ?? { use, configured, ...bind(use, wanted) };
    this.#held.push(held);
    return held;
  }

  /** Offers all of them to a process that takes over. */
  describe(share: Share): PortInheritance[] {
    return this.#held.map(({ descriptor, ...held }) => ({ ...held, descriptor: share(descriptor) }));
  }

  /** Those that serve the ports have them from now on, or the other process has. */
  close(): void {
    for (const { descriptor } of this.#held) closeSync(descriptor);
    this.#held = [];
  }
}

function bind(use: PortInheritance['use'], { address, port: wanted }: ListenAddress): HeldPort {
  const local = { address, port: wanted };
  if (use === 'udp') {
    const { descriptor, port } = openBoundUdp(local);
    return { address: { address, port }, descriptor };
  }
  const { descriptors, port } = openSharedTcp(local, 1);
  return { address: { address, port }, descriptor: descriptors[0]! };
}
