import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connectHttp3, QuicError } from '@sheaf/native';
import { onTestFinished } from 'vitest';

/**
 * Sends one packet, and no other: a first one of a version that nobody speaks (RFC 9000 §6.1). Resolves with the
 * version in what comes back. Only a socket that is there already has it for a process that starts later.
 */
export async function answerToOnePacket(port: number): Promise<number> {
  const packet = Buffer.alloc(1200);
  packet.writeUInt8(0xc0, 0);
  packet.writeUInt32BE(0x1a2a3a4a, 1);
  packet.writeUInt8(8, 5);
  packet.writeUInt8(8, 14);
  const socket = createSocket('udp4');
  onTestFinished(() => void socket.close());
  socket.send(packet, port, '127.0.0.1');
  const [received] = (await once(socket, 'message')) as [Buffer];
  return received.readUInt32BE(1);
}

/** Returns the status of `/a.txt` over HTTP/3. On a busy machine, a server may start later than a client gives up. */
export async function statusOverHttp3(port: number): Promise<number> {
  for (;;) {
    try {
      const client = await connectHttp3({ host: '127.0.0.1', port, serverName: 'localhost', insecure: true });
      const { status } = await client.request({ path: '/a.txt' });
      await client.close();
      return status;
    } catch (error) {
      if (!(error instanceof QuicError) || error.code !== 'HANDSHAKE_FAILED') throw error;
    }
  }
}
