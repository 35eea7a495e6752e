import { describe, expect, it } from 'vitest';
import { createSigner, createVerify } from '../../src/signed_media/index.js';
import { MAXIMUM_FLIGHT, openStatement, signStatement } from '../../src/signed_media/statement.js';

// The test vector of docs/reference/wire.md
const seed = Uint8Array.from({ length: 32 }, (_, index) => index);
const signer = await createSigner(seed);
const verify = await createVerify(signer.publicKey);
const name = { broadcast: 'a/b', track: 'video', group: 3, timescale: 1_000 };
const hash = async (text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
const statement = {
  run: 5,
  first: 1,
  last: true,
  frames: [
    { timestamp: 40, hash: await hash('delta') },
    { timestamp: 80, hash: await hash('') },
  ],
};
const content =
  '0105010102' +
  '284f4a9410ffcdf895c4adb880659e9b5c0dd1f23a30790684340b3eaacb045398' +
  '4050e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const signature =
  'cf0dc34c12e20a10b53f0b6e03035c5ba311440400cd853c016138e29d0b5850b8aa4acc02cfc0f09108bf71a97a3bbf116add117e31ad789c10f5348bd90000';

const open = (bytes: Uint8Array, of = name) => openStatement(verify, of, bytes);

describe('a statement about frames', () => {
  it('has the bytes of the documents', async () => {
    expect(Buffer.from(signer.publicKey).toString('hex')).toBe(
      '03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8',
    );
    expect(Buffer.from(await signStatement(signer, name, statement)).toString('hex')).toBe(content + signature);
    expect(await open(Uint8Array.from(Buffer.from(content + signature, 'hex')))).toEqual(statement);
  });

  it('is refused when it is cut off anywhere, or longer', async () => {
    const bytes = await signStatement(signer, name, statement);
    for (let length = 0; length < bytes.length; length += 1)
      expect(await open(bytes.subarray(0, length))).toBeUndefined();
    expect(await open(Uint8Array.of(...bytes, 0))).toBeUndefined();
  });

  it('is about one group of one track of one broadcast', async () => {
    const bytes = await signStatement(signer, name, statement);
    expect(await open(bytes)).toEqual(statement);
    for (const other of [{ broadcast: 'a' }, { track: 'audio' }, { group: 4 }, { timescale: 1_001 }])
      expect(await open(bytes, { ...name, ...other })).toBeUndefined();
    // Parts that touch are told apart by their lengths.
    expect(await open(bytes, { ...name, broadcast: 'a/bv', track: 'ideo' })).toBeUndefined();
  });

  it('covers a bounded number of frames, and may cover none', async () => {
    const frame = { timestamp: Number.MAX_SAFE_INTEGER, hash: await hash('') };
    const most = {
      ...{ run: Number.MAX_SAFE_INTEGER, first: Number.MAX_SAFE_INTEGER - MAXIMUM_FLIGHT, last: false },
      frames: Array.from({ length: MAXIMUM_FLIGHT }, () => frame),
    };
    expect(await open(await signStatement(signer, name, most))).toEqual(most);
    await expect(signStatement(signer, name, { ...most, frames: [...most.frames, frame] })).rejects.toThrow('at most');
    const none = { ...statement, frames: [] };
    expect(await open(await signStatement(signer, name, none))).toEqual(none);
  });

  it('of a later version, or with flags that are not known, is refused', async () => {
    for (const place of [0, 3]) {
      const bytes = await signStatement(signer, name, statement);
      const signed = bytes.slice();
      signed[place] = 2;
      expect(await openStatement(() => Promise.resolve(true), name, signed)).toBeUndefined();
    }
  });
});
