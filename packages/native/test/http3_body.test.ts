import { describe, expect, it, onTestFinished } from 'vitest';
import type { NativeEndpoint } from '../lib/addon.js';
import { IncomingBody } from '../lib/http3_body.js';
import { BACKEND_LOST } from '../lib/multi_end_types.js';

/** A body whose bytes come from these pieces. */
function bodyOf(pieces: Buffer[]): IncomingBody {
  const endpoint = {
    readBody: () => pieces.shift(),
    readBodyInto: () => 0,
    stopReading: () => undefined,
  } as unknown as NativeEndpoint;
  const body = new IncomingBody({ endpoint, connection: 1, stream: 0 });
  body.on('error', () => undefined);
  onTestFinished(() => void body.destroy());
  return body;
}

describe('readInto', () => {
  it('gives what had arrived of a backend that is lost, and then says that it is', async () => {
    const body = bodyOf([Buffer.from('what had arrived')]);
    body.read(0);
    expect(body.readableLength).toBe(16);
    body.onReset(BACKEND_LOST);
    const buffer = Buffer.alloc(100);
    expect(await body.readInto(buffer)).toBe(16);
    await expect(body.readInto(buffer)).rejects.toMatchObject({ code: 'BACKEND_LOST' });
  });

  it('refuses other views than Uint8Array, which it could not fill', async () => {
    const body = bodyOf([]);
    await expect(body.readInto(new Uint8ClampedArray(10) as never)).rejects.toThrow(TypeError);
    await expect(body.readInto(new DataView(new ArrayBuffer(10)) as never)).rejects.toThrow(TypeError);
  });
});

describe('a message that ends without a body', () => {
  it('is known not to have one until somebody reads it, who then sees its end', async () => {
    const body = bodyOf([]);
    expect(body.bodyless).toBe(false);
    body.onFinished();
    expect(body.bodyless).toBe(true);
    const chunks: unknown[] = [];
    for await (const chunk of body) chunks.push(chunk);
    expect(chunks).toEqual([]);
    expect(body.bodyless).toBe(false);
  });

  it('ends for a reader with memory of its own', async () => {
    const body = bodyOf([]);
    body.onFinished();
    const ended = new Promise((resolve) => body.once('end', resolve));
    expect(await body.readInto(Buffer.alloc(10))).toBe(0);
    await ended;
  });

  it('has one where bytes came before the end', () => {
    const body = bodyOf([Buffer.from('a')]);
    body.onReadable();
    body.onFinished();
    expect(body.bodyless).toBe(false);
  });
});
