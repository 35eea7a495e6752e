import type { Socket } from 'node:net';

/** What a client may send before its turn, in bytes. A ClientHello is smaller. */
const maxAheadBytes = 16_384;

/**
 * Reads from a connection that waits for its turn, so that its end is noticed and closes it. Returns the function that
 * puts the bytes back, for whoever reads next.
 */
export function readAhead(socket: Socket): () => void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const onReadable = (): void => {
    while (bytes < maxAheadBytes) {
      const chunk = socket.read() as Buffer | null;
      if (!chunk) return;
      chunks.push(chunk);
      bytes += chunk.length;
    }
  };
  const onEnd = (): unknown => socket.destroy();
  socket.on('readable', onReadable).once('end', onEnd);
  return () => {
    socket.off('readable', onReadable).off('end', onEnd);
    if (bytes > 0) socket.unshift(Buffer.concat(chunks));
  };
}
