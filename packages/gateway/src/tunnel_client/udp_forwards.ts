import type { Logger } from 'pino';
import { errorMessage } from '../errors/user_error.js';
import type { Target } from '../tunnels/target_rules.js';
import { formatAddress } from '../values/listen_error.js';
import type { HeldPort } from './held_port.js';
import { MovingPort } from './moving_port.js';
import type { UdpTunnels } from './udp_tunnels.js';

/** A port of UDP that leads to one target */
interface Forward {
  target: Target;
  port: MovingPort;
  /** Why nothing is carried */
  reason: string;
  refused: number;
}

/** Why no tunnel can be opened before there is another reason */
const noConnection = 'no connection to the gateway';

/** Ports of UDP whose peers get a tunnel each. They stay open from one connection to the gateway to the next. */
export class UdpForwards {
  readonly #tunnels: UdpTunnels;
  readonly #log: Logger;
  readonly #forwards: Forward[] = [];

  constructor(tunnels: UdpTunnels, log: Logger) {
    this.#tunnels = tunnels;
    this.#log = log;
  }

  /** Adds a port, whose packets wait until `run`. */
  add(held: HeldPort, target: Target): void {
    const forward: Forward = {
      target,
      port: this.#portOf(held, target, () => forward),
      reason: noConnection,
      refused: 0,
    };
    this.#forwards.push(forward);
  }

  /** Carries packets until `close` or `leave`. */
  async run(): Promise<void> {
    await Promise.all(this.#forwards.map(({ port }) => port.follow()));
  }

  get listeners() {
    return this.#forwards.map(({ target, port, reason, refused }) => ({
      kind: 'udp' as const,
      listen: formatAddress(port.address),
      to: formatAddress({ address: target.host, port: target.port }),
      ...(port.tunnels === undefined && { reason }),
      open: port.tunnels ?? 0,
      refused,
    }));
  }

  /** Leaves the ports to another process. Tunnels that are open go on. */
  leave(): void {
    for (const { port } of this.#forwards) port.leave();
  }

  close(): void {
    for (const { port } of this.#forwards) port.close();
  }

  #portOf({ address: local, descriptor: bound }: HeldPort, target: Target, forward: () => Forward): MovingPort {
    return new MovingPort({
      gateway: this.#tunnels.gateway,
      local,
      bound,
      open: (client, address) => {
        const port = client.openTunnelPort({
          ...this.#tunnels.portOptions(client, 'udp', () => (forward().refused += 1)),
          local: address,
          bound,
          path: this.#tunnels.pathTo(target.host, target.port),
        });
        forward().reason = noConnection;
        return port;
      },
      onTrouble: (error) => {
        const reason = errorMessage(error);
        if (forward().reason !== reason)
          this.#log.warn({ listen: formatAddress(local), reason }, 'a port of UDP is closed');
        forward().reason = reason;
      },
    });
  }
}
