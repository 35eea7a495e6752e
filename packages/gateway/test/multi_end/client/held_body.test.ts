import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { HeldBody } from '../../../src/multi_end/client/held_body.js';

/** A body whose chunks come when the test says so. */
class Source implements AsyncIterator<string> {
  left = false;
  readonly #waiting: ((result: IteratorResult<string>) => void)[] = [];

  next(): Promise<IteratorResult<string>> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
  return(): Promise<IteratorResult<string>> {
    this.left = true;
    return Promise.resolve({ value: undefined, done: true });
  }
  get asked(): number {
    return this.#waiting.length;
  }
  give(value: string): void {
    this.#waiting.shift()!({ value, done: false });
  }
  end(): void {
    this.#waiting.shift()!({ value: undefined, done: true });
  }
}

const sourced = () => {
  const source = new Source();
  return { source, body: new HeldBody({ [Symbol.asyncIterator]: () => source }) };
};
const readAll = async (body: HeldBody): Promise<string> => {
  let read = '';
  for await (const chunk of body) read += String(chunk);
  return read;
};

describe('a body of which little was read', () => {
  it('can be read from its start again, by who takes over while a part is awaited', async () => {
    const { source, body } = sourced();
    const first = readAll(body);
    await vi.waitFor(() => expect(source.asked).toBe(1), 30_000);
    source.give('one ');
    await vi.waitFor(() => expect(source.asked).toBe(1), 30_000);
    expect(body.whole).toBe(true);
    const second = readAll(body);
    source.give('two ');
    await vi.waitFor(() => expect(source.asked).toBe(1), 30_000);
    source.give('three');
    await vi.waitFor(() => expect(source.asked).toBe(1), 30_000);
    source.end();
    expect(await second).toBe('one two three');
    expect(await first).toBe('one ');
    expect(await readAll(body)).toBe('one two three');
  });

  it('is not complete for the next reader either when it broke off', async () => {
    const body = new HeldBody(
      (async function* () {
        yield 'one';
        throw new Error('the client left');
      })(),
    );
    await expect(readAll(body)).rejects.toThrow('the client left');
    await expect(readAll(body)).rejects.toThrow('the client left');
  });
});

describe('a body of which much was read', () => {
  it('is not kept, and arrives whole', async () => {
    const chunks = Array.from({ length: 40 }, (_each, index) => Buffer.alloc(4_096, index));
    const body = new HeldBody(Readable.from(chunks));
    const read: Buffer[] = [];
    for await (const chunk of body) {
      read.push(chunk as Buffer);
      expect(body.whole).toBe(read.length <= 16);
    }
    expect(Buffer.concat(read).equals(Buffer.concat(chunks))).toBe(true);
  });
});

describe('whoever brings a body learns that nobody reads on', () => {
  it('when it was released while nobody read', async () => {
    const { source, body } = sourced();
    const reading = body[Symbol.asyncIterator]();
    const first = reading.next();
    await vi.waitFor(() => expect(source.asked).toBe(1), 30_000);
    source.give('one');
    expect((await first).value).toBe('one');
    await reading.return(undefined);
    expect(source.left).toBe(false);
    body.release();
    expect(source.left).toBe(true);
  });

  it('when it was released and its reader leaves', async () => {
    const { source, body } = sourced();
    const reading = body[Symbol.asyncIterator]();
    const first = reading.next();
    await vi.waitFor(() => expect(source.asked).toBe(1), 30_000);
    source.give('one');
    await first;
    body.release();
    expect(source.left).toBe(false);
    await reading.return(undefined);
    expect(source.left).toBe(true);
  });
});
