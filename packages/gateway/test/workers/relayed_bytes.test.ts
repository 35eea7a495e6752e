import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { receiveBytes, sendBytes } from '../../src/workers/relayed_bytes.js';

/** Sends pieces over a port. Tells how many were taken, and whether the sender was told that no more are. */
function relay(pieces: (Buffer | Error)[]) {
  const { port1, port2 } = new MessageChannel();
  const state = { taken: 0, over: false };
  async function* source(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for (const piece of pieces) {
        state.taken += 1;
        if (piece instanceof Error) throw piece;
        yield piece;
      }
    } finally {
      state.over = true;
    }
  }
  sendBytes(port1, source());
  return { state, port: port1, received: receiveBytes(port2) };
}

it('bytes cross in order, and none is taken before it is asked for', async () => {
  const { state, received } = relay(['one', 'two', ''].map((text) => Buffer.from(text)));
  expect(String((await received.next()).value)).toBe('one');
  expect(state).toEqual({ taken: 1, over: false });
  const rest: string[] = [];
  for await (const piece of received) rest.push(String(piece));
  expect([rest, state]).toEqual([['two', ''], { taken: 3, over: true }]);
});

it('an error of the sender reaches the receiver, and so does its end', async () => {
  const failing = relay([Buffer.from('one'), new Error('the client has left')]);
  await failing.received.next();
  await expect(failing.received.next()).rejects.toThrow('the client has left');
  const closing = relay([Buffer.from('one'), Buffer.from('two')]);
  await closing.received.next();
  closing.port.close();
  await expect(closing.received.next()).rejects.toThrow('end early');
});

it('a sender that ended while nobody asked is an error for everybody who asks afterwards', async () => {
  const { port1, port2 } = new MessageChannel();
  const received = receiveBytes(port2);
  const over = once(port2, 'close');
  port1.close();
  await over;
  await expect(received.next()).rejects.toThrow('end early');
});

it('a receiver that wants no more ends the sender', async () => {
  const { state, received } = relay([Buffer.from('one'), Buffer.from('two')]);
  await received.next();
  await received.return();
  await expect.poll(() => state.over).toBe(true);
  expect(state.taken).toBe(1);
});
