import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** A program that sends packets on to a group: those that `passes` says by their number, which begins with 1 */
export interface MulticastRelay {
  port: number;
  passes: (count: number) => boolean;
}

export async function startMulticastRelay(group: { address: string; port: number }): Promise<MulticastRelay> {
  const [relay, sender] = [createSocket('udp4'), createSocket('udp4')];
  onTestFinished(() => void [relay, sender].map((socket) => socket.close()));
  for (const socket of [relay, sender]) {
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
  }
  sender.setMulticastInterface('127.0.0.1');
  const started: MulticastRelay = { port: relay.address().port, passes: () => true };
  let count = 0;
  relay.on('message', (packet) => {
    count += 1;
    if (started.passes(count)) sender.send(packet, group.port, group.address);
  });
  return started;
}
