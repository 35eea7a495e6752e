import type { MessagePort } from 'node:worker_threads';
import { errorMessage } from '../errors/user_error.js';

/** The response to a request for the next bytes */
type Piece = { bytes: Uint8Array } | { ended: true } | { failed: string };

/** Gives bytes to the other end of a port, piece by piece, as it asks for them. Ends with the port. */
export function sendBytes(port: MessagePort, bytes: AsyncIterable<Buffer>): void {
  const iterator = bytes[Symbol.asyncIterator]();
  const post = (piece: Piece): void =>
    port.postMessage(piece, 'bytes' in piece ? [piece.bytes.buffer as ArrayBuffer] : []);
  port.on('message', () => {
    iterator.next().then(
      (next) => post(next.done === true ? { ended: true } : { bytes: new Uint8Array(next.value) }),
      (error: unknown) => post({ failed: errorMessage(error) }),
    );
  });
  port.once('close', () => void iterator.return?.().catch(() => undefined));
}

/** Returns the bytes that `sendBytes` gives to the other end. They end with an error when that end fails. */
export function receiveBytes(port: MessagePort): AsyncGenerator<Buffer, void, undefined> {
  const closed = new AbortController();
  // A port tells once of its end, which may be long before somebody asks.
  port.once('close', () => closed.abort());
  return received(port, closed.signal);
}

async function* received(port: MessagePort, closed: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
  try {
    for (;;) {
      const piece = await ask(port, closed);
      if ('failed' in piece) throw new Error(piece.failed);
      if ('ended' in piece) return;
      yield Buffer.from(piece.bytes.buffer);
    }
  } finally {
    port.close();
  }
}

function ask(port: MessagePort, closed: AbortSignal): Promise<Piece> {
  return new Promise((resolve, reject) => {
    const onClose = (): void => reject(new Error('the bytes end early'));
    if (closed.aborted) return onClose();
    closed.addEventListener('abort', onClose, { once: true });
    port.once('message', (piece: Piece) => {
      closed.removeEventListener('abort', onClose);
      resolve(piece);
    });
    port.postMessage('next');
  });
}
