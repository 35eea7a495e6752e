import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { inCapsules } from '../../src/tunnels/capsule_stream.js';

/** The stream below, whose reader takes one write at a time */
function carrier() {
  const written: Buffer[] = [];
  let goOn = (): void => undefined;
  const outgoing = new Writable({
    highWaterMark: 1,
    write: (bytes: Buffer, _encoding, done) => {
      written.push(bytes);
      goOn = done;
    },
  });
  const below = { incoming: new PassThrough(), outgoing, abort: (): void => undefined };
  return { ...below, written, goOn: () => goOn(), above: inCapsules(below) };
}

it('bytes that have come are read after the stream below has closed', async () => {
  const { incoming, above } = carrier();
  incoming.end(Buffer.from([8, 2, 1, 2, 9, 1, 3]));
  await once(incoming, 'close');
  expect(await buffer(above.incoming)).toEqual(Buffer.from([1, 2, 3]));
});

it('a stream below that closes without FINAL_DATA closes the one above with an error or without', async () => {
  const { incoming, above } = carrier();
  incoming.write(Buffer.from([8, 2, 1]));
  incoming.destroy();
  await once(above.incoming, 'close');
  expect(above.incoming.readableEnded).toBe(false);
});

it('no more is written than the stream below takes', () => {
  const { above, written, goOn } = carrier();
  for (let index = 0; index < 10; ++index) above.outgoing.write(Buffer.alloc(100));
  expect(written).toHaveLength(1);
  for (let index = 0; index < 3; ++index) goOn();
  expect(Buffer.concat(written).length).toBeLessThanOrEqual(2 * 103);
});
