import type { ReturnLost, ServerResponse } from '@sheaf/native';

/** What has become of a body that was left to a backend */
export interface Ended {
  /** Offset in the stream at which the body begins */
  start: number;
  /** Bytes at the beginning of the body that the client has */
  received: number;
  /** Why the backend sends no more of it; undefined when the client has all or has left */
  reason: ReturnLost['reason'] | undefined;
}

/** A body whose backend sends no more of it */
export type LostBody = Ended & { reason: ReturnLost['reason'] };

/**
 * Sends the head, and leaves the body to the backend. Calls `onEnded` once: when the client has all or has left, or when the
 * backend leaves something undone. @throws QuicError when the client's connection does not permit it; then nothing was sent
 */
export function handOff(response: ServerResponse, head: Buffer, length: number, onEnded: (ended: Ended) => void): void {
  const start = response.handOff(head, length);
  const end = (acknowledged: number, reason?: ReturnLost['reason']): void => {
    response.off('close', onClose).off('returnLost', onLost);
    onEnded({ start, received: Math.min(length, Math.max(0, acknowledged - start)), reason });
  };
  const onLost = ({ reason, acknowledged }: ReturnLost): void => end(acknowledged, reason);
  const onClose = (): void => end(response.writableEnded ? start + length : response.acknowledged);
  response.on('returnLost', onLost);
  response.on('close', onClose);
}

/** Continues a body that was handed off. Resolves when the client has all, or has left. */
export async function continueBody(
  response: ServerResponse,
  { start, received }: LostBody,
  length: number,
  rest: AsyncIterable<Buffer>,
): Promise<void> {
  const closed = new Promise<void>((resolve) => response.once('close', resolve));
  let at = received;
  const write = async (chunk: Buffer | undefined): Promise<void> => {
    const offset = start + at;
    at += chunk?.length ?? 0;
    if (at > length) throw new Error(`the rest of the body is longer than ${length - received} bytes`);
    if (!response.writeInstead(offset, chunk, at === length))
      await Promise.race([new Promise<void>((resolve) => response.once('drain', resolve)), closed]);
  };
  if (at === length) await write(undefined);
  for await (const chunk of rest) {
    if (response.destroyed) return;
    await write(chunk);
  }
  if (at < length) throw new Error(`the rest of the body ended at byte ${at} of ${length}`);
  await closed;
}
