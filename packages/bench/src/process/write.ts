import type { Writable } from 'node:stream';

/** Resolves once the bytes are written, so that their memory can be used again. */
export const write = (stream: Writable, bytes: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
