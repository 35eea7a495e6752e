import { EventEmitter } from 'node:events';
import { frameHeader, QuicError, type WatchedChannel } from '@sheaf/native';
import { expect, it } from 'vitest';
import { OrderedParts } from '../src/download/ordered_parts.js';

const ours = '6f1c2a52-6d0a-4f0e-9a5e-0d8a4a3f3f11';
const other = '0b0f9a0c-1f6e-4b53-8b8d-2f7d3a6f1c22';

function startChannel() {
  const counts = { expired: 0 };
  const channel = Object.assign(new EventEmitter(), { status: () => counts });
  const parts = new OrderedParts(channel as unknown as WatchedChannel);
  const frame = (bytes: Buffer): Buffer => Buffer.concat([frameHeader(bytes.length), bytes]);
  const group = (id: string, offset: number, text: string): void => {
    const head = Buffer.from(JSON.stringify({ id, name: '', offset }));
    const bytes = Buffer.concat([frame(head), frame(Buffer.from(text))]);
    channel.emit(
      'group',
      (async function* () {
        await Promise.resolve();
        yield bytes;
      })(),
    );
  };
  const fail = (): void => {
    const failing = {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new QuicError('GROUP_EXPIRED', 'too late')) }),
    };
    channel.emit('group', failing);
  };
  const read = async (offset: number): Promise<string | undefined> => {
    const part = await parts.next(offset);
    const pieces: Buffer[] = [];
    for await (const piece of part?.bytes ?? []) pieces.push(piece);
    return part && Buffer.concat(pieces).toString();
  };
  return { channel, counts, group, fail, read };
}

it('parts come in the order of their offsets, whatever order their groups arrive in', async () => {
  const { group, read } = startChannel();
  group(other, 900, 'the end of another one');
  group(ours, 6, 'third');
  group(ours, 3, 'two');
  group(ours, 0, 'one');
  expect([await read(0), await read(3)]).toEqual(['one', 'two']);
  group(other, 6, 'foreign');
  expect(await read(6)).toBe('third');
});

it('a group that expires ends the publication that has begun, and no other', async () => {
  const { group, fail, read } = startChannel();
  fail();
  group(ours, 0, 'one');
  expect(await read(0)).toBe('one');
  fail();
  await expect(read(3)).rejects.toMatchObject({ code: 'GROUP_EXPIRED' });
});

it('at most 64 parts wait for one before them', async () => {
  const { group, read } = startChannel();
  group(ours, 0, 'one');
  expect(await read(0)).toBe('one');
  for (let index = 0; index < 65; index += 1) group(ours, 100 + index, 'later');
  await expect(read(3)).rejects.toThrow('more than 64');
});

it('a group of which nothing came ends the publication once its packets have expired', async () => {
  const { counts, group, read } = startChannel();
  group(ours, 0, 'one');
  group(ours, 6, 'three');
  expect(await read(0)).toBe('one');
  const next = read(3);
  counts.expired = 1;
  await expect(next).rejects.toThrow('did not come in time');
});

it('the end of the channel ends the wait', async () => {
  const { channel, read } = startChannel();
  const next = read(0);
  channel.emit('close');
  expect(await next).toBeUndefined();
});
