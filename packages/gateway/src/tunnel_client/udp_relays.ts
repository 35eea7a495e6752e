import type { Socket } from 'node:net';
import type { ListenAddress } from '../values/scalars.js';
import { MovingPort } from './moving_port.js';
import type { UdpTunnels } from './udp_tunnels.js';

/** Relays at one time, of all programs together. Each has two descriptors, and up to 512 KiB of packets that wait. */
const mostRelays = 64;

/** Relays of UDP for programs that name the target of each packet in front of it (RFC 1928 §7) */
export class UdpRelays {
  readonly #tunnels: UdpTunnels;
  #open = 0;

  constructor(tunnels: UdpTunnels) {
    this.#tunnels = tunnels;
  }

  /**
   * Opens a relay for the program at the other end of a connection, which lasts as long as that. It goes on over one connection to the
   * gateway after another. `port`: the one that the program sends from; 0 for any. Resolves with the address of the relay, or with undefined
   * when there are too many, or the program has left. Rejects when the gateway cannot be reached.
   */
  async open(socket: Socket, port: number): Promise<ListenAddress | undefined> {
    if (this.#open === mostRelays) return undefined;
    this.#open += 1;
    socket.once('close', () => (this.#open -= 1));
    const client = await this.#tunnels.gateway.open();
    const { localAddress, remoteAddress } = socket;
    if (socket.destroyed || localAddress === undefined || remoteAddress === undefined) return undefined;
    const relay = this.#relayOf(socket, plain(localAddress), { address: plain(remoteAddress), port });
    relay.open(client);
    void relay.follow(client);
    socket.once('close', () => relay.close());
    return relay.address;
  }

  #relayOf(socket: Socket, address: string, program: ListenAddress): MovingPort {
    return new MovingPort({
      gateway: this.#tunnels.gateway,
      local: { address, port: 0 },
      open: (client, local) =>
        client.openTunnelRelay({
          ...this.#tunnels.portOptions(client, 'socks5 udp', () => undefined),
          local,
          program,
          pathTo: (host, targetPort) => this.#tunnels.pathTo(host, targetPort),
        }),
      // The program knows this one port.
      onTrouble: () => socket.destroy(),
    });
  }
}

/** A socket of both families calls an IPv4 address `::ffff:192.0.2.7`. */
const plain = (address: string): string => address.replace(/^::ffff:(?=[\d.]+$)/, '');
