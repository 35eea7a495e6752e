import { Counter, Gauge, type Registry } from 'prom-client';
import type { TunnelStatus } from './status.js';

/** Registers the metrics of a gateway's tunnels. */
export function tunnelMetrics(registry: Registry, status: () => TunnelStatus | undefined): void {
  const registers = [registry];
  new Gauge({
    name: 'sheaf_tunnels_open',
    help: 'Tunnels that are open now.',
    registers,
    collect() {
      this.set(status()?.open ?? 0);
    },
  });
  const total = (
    name: string,
    help: string,
    label: string,
    read: (tunnels: TunnelStatus) => Readonly<Record<string, number>>,
  ): void => {
    new Counter({
      name: `sheaf_tunnel_${name}_total`,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset();
        const tunnels = status();
        if (!tunnels) return;
        for (const [value, count] of Object.entries(read(tunnels))) this.inc({ [label]: value }, count);
      },
    });
  };
  total('requests', 'Requests for tunnels, by the status of the response.', 'status', ({ answers }) => answers);
  total('packets', 'UDP packets that tunnels carried.', 'direction', (tunnels) => ({
    to_target: tunnels.packetsToTarget,
    to_client: tunnels.packetsToClient,
  }));
  total('bytes', 'Payload of these packets.', 'direction', (tunnels) => ({
    to_target: tunnels.bytesToTarget,
    to_client: tunnels.bytesToClient,
  }));
  total('dropped_packets', 'UDP packets that tunnels dropped.', 'reason', ({ drops }) => drops);
}
