import { createServer } from 'node:net';
import { formatAddress } from '../values/listen_error.js';
import type { Target } from '../tunnels/target_rules.js';
import { LocalListener } from './local_listener.js';
import type { TcpTunnels } from './tcp_tunnels.js';

/** Makes a port that leads to one target. Programs get a reset where the gateway opens no tunnel. */
export function tcpForward(tunnels: TcpTunnels, target: Target): LocalListener {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    void tunnels.carry(socket, target, {
      kind: 'tcp',
      accept: () => undefined,
      refuse: () => socket.resetAndDestroy(),
    });
  });
  return new LocalListener(server, { kind: 'tcp', to: formatAddress({ address: target.host, port: target.port }) });
}
