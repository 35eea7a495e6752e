import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port that is free for UDP and TCP, for a process that will start later. It lies above those that browsers
 * refuse, and below the ports that the system
 * chooses for sockets, so that it stays free meanwhile.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_081, 32_000);
    const servers = [createServer().listen(port, '127.0.0.1'), createSocket('udp4').bind(port, '127.0.0.1')];
    const outcomes = await Promise.allSettled(servers.map((server) => once(server, 'listening')));
    const opened = servers.filter((_, index) => outcomes[index]?.status === 'fulfilled');
    await Promise.all(opened.map((server) => once(server.close(), 'close')));
    if (opened.length === servers.length) return port;
  }
}
