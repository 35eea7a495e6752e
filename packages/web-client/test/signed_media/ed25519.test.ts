import { afterEach, describe, expect, it, vi } from 'vitest';
import { createSigner, createVerify, formatPublicKey, parsePublicKey } from '../../src/signed_media/index.js';

// RFC 8032 §7.1, test 3
const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));
const seed = bytes('c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7');
const publicKey = bytes('fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025');
const message = bytes('af82');
const signature = bytes(
  '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
);

/** Makes WebCrypto refuse Ed25519, as browsers without it do. */
function removeFromWebCrypto() {
  const { subtle } = crypto;
  return vi.spyOn(subtle, 'importKey').mockImplementation(() => {
    return Promise.reject(new DOMException('Unrecognized name', 'NotSupportedError'));
  });
}

afterEach(() => void vi.restoreAllMocks());

describe.each([['WebCrypto'], ['libsodium']])('Ed25519 by %s', (name) => {
  const choose = (): void => {
    if (name === 'libsodium') removeFromWebCrypto();
  };

  it('signs as RFC 8032 says', async () => {
    choose();
    const signer = await createSigner(seed);
    expect(signer.publicKey).toEqual(publicKey);
    expect(await signer.sign(message)).toEqual(signature);
  });

  it('verifies what is genuine alone', async () => {
    choose();
    const verify = await createVerify(publicKey);
    expect(await verify(message, signature)).toBe(true);
    expect(await verify(bytes('af83'), signature)).toBe(false);
    const spoilt = signature.slice();
    spoilt[5]! ^= 1;
    expect(await verify(message, spoilt)).toBe(false);
    const { publicKey: other } = await createSigner(new Uint8Array(32));
    expect(await (await createVerify(other))(message, signature)).toBe(false);
  });
});

it('is asked of libsodium only when WebCrypto does not have it', async () => {
  const importKey = removeFromWebCrypto();
  importKey.mockImplementation(() => Promise.reject(new DOMException('', 'DataError')));
  await expect(createVerify(publicKey)).rejects.toMatchObject({ name: 'DataError' });
});

it('refuses keys of another length', async () => {
  await expect(createSigner(seed.subarray(1))).rejects.toThrow('a seed has 32 bytes, not 31');
  await expect(createVerify(new Uint8Array(33))).rejects.toThrow('a public key has 32 bytes, not 33');
});

describe('the text of a public key', () => {
  const text = 'ed25519:_FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU';

  it('is that of configurations', () => {
    expect(formatPublicKey(publicKey)).toBe(text);
    expect(parsePublicKey(text)).toEqual(publicKey);
  });

  it.each([
    ['another prefix', text.replace('ed', 'ec')],
    ['a letter less', text.slice(0, -1)],
    ['bits that are not used', `${text.slice(0, -1)}V`],
    ['letters of ordinary base64', text.replace('_', '/')],
  ])('is refused with %s', (_name, other) => {
    expect(() => parsePublicKey(other)).toThrow('not a public key');
  });
});
