import { Counter, Gauge, type Registry } from 'prom-client';
import type { TcpTunnelStatus, TunnelStatus } from './status.js';

type Total<Status> = (
  name: string,
  help: string,
  label: string,
  read: (tunnels: Status) => Readonly<Record<string, number>>,
) => void;

/** Registers how many tunnels are open, and returns what registers counts by a label. */
function register<Status extends { open: number }>(
  registry: Registry,
  { name: kind, help: tunnels }: { name: string; help: string },
  status: () => Status | undefined,
): Total<Status> {
  const registers = [registry];
  new Gauge({
    name: `sheaf_${kind}s_open`,
    help: `${tunnels} that are open now.`,
    registers,
    collect() {
      this.set(status()?.open ?? 0);
    },
  });
  return (name, help, label, read) => {
    new Counter({
      name: `sheaf_${kind}_${name}_total`,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset();
        const found = status();
        if (!found) return;
        for (const [value, count] of Object.entries(read(found))) this.inc({ [label]: value }, count);
      },
    });
  };
}

/** Registers the metrics of a gateway's tunnels for TCP. */
export function tcpTunnelMetrics(registry: Registry, status: () => TcpTunnelStatus | undefined): void {
  const total = register(registry, { name: 'tcp_tunnel', help: 'Tunnels for TCP' }, status);
  total('requests', 'Requests of CONNECT, by the status of the response.', 'status', ({ answers }) => answers);
  total('bytes', 'Bytes that tunnels for TCP carried.', 'direction', (tunnels) => ({
    to_target: tunnels.bytesToTarget,
    to_client: tunnels.bytesToClient,
  }));
}

/** Registers the metrics of a gateway's tunnels for UDP. */
export function tunnelMetrics(registry: Registry, status: () => TunnelStatus | undefined): void {
  const total = register(registry, { name: 'tunnel', help: 'Tunnels' }, status);
  new Gauge({
    name: 'sheaf_tunnel_waiting_bytes',
    help: 'Bytes of UDP packets that wait in tunnels for connections.',
    registers: [registry],
    collect() {
      this.set(status()?.waitingBytes ?? 0);
    },
  });
  new Gauge({
    name: 'sheaf_tunnel_response_seconds',
    help: 'Smoothed time from the first packet of a tunnel for UDP to the first one in the other direction.',
    aggregator: 'average',
    registers: [registry],
    collect() {
      const milliseconds = status()?.responseMs;
      if (milliseconds !== undefined) this.set(milliseconds / 1_000);
    },
  });
  total('requests', 'Requests for tunnels, by the status of the response.', 'status', ({ answers }) => answers);
  total('packets', 'UDP packets that tunnels carried.', 'direction', (tunnels) => ({
    to_target: tunnels.packetsToTarget,
    to_client: tunnels.packetsToClient,
  }));
  total('bytes', 'Payload of these packets.', 'direction', (tunnels) => ({
    to_target: tunnels.bytesToTarget,
    to_client: tunnels.bytesToClient,
  }));
  total('repeated_packets', 'UDP packets that were sent once more, as they were lost.', 'direction', (tunnels) => ({
    to_client: tunnels.packetsRepeated,
  }));
  total('marked_packets', 'UDP packets that got a mark of congestion as they waited.', 'direction', (tunnels) => ({
    to_client: tunnels.packetsMarked,
  }));
  total('dropped_packets', 'UDP packets that tunnels dropped.', 'reason', ({ drops }) => drops);
}
