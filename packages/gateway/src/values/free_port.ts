import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once, type EventEmitter } from 'node:events';
import { createServer } from 'node:net';

/**
 * Returns a port of 127.0.0.1 that is free for UDP and TCP, for a process that will start later. It lies below
 * the ports that the system chooses itself, so that it stays free meanwhile, and above those that browsers refuse.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_081, 32_000);
    if (
      (await canListen(createServer().listen(port, '127.0.0.1'))) &&
      (await canListen(createSocket('udp4').bind(port, '127.0.0.1')))
    )
      return port;
  }
}

async function canListen(server: EventEmitter & { close(): unknown }): Promise<boolean> {
  const listens = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!listens) return false;
  const closed = once(server, 'close');
  server.close();
  await closed;
  return true;
}
