/** Ed25519 (RFC 8032) by WebCrypto where it is present, else by libsodium, which is loaded only then */

export const PUBLIC_KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;
const seedBytes = 32;
const textPrefix = 'ed25519:';

/** Bytes before the seed in a PrivateKeyInfo (RFC 8410 §7) */
const privateKeyInfoPrefix = Uint8Array.of(48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32);

export interface Signer {
  readonly publicKey: Uint8Array;
  sign(message: Uint8Array): Promise<Uint8Array>;
}

/** Returns whether the owner of the key has signed this message. */
export type Verify = (message: Uint8Array, signature: Uint8Array) => Promise<boolean>;

/** Makes a signer of 32 secret, random bytes. */
export async function createSigner(seed: Uint8Array): Promise<Signer> {
  if (seed.length !== seedBytes) throw new RangeError(`a seed has ${seedBytes} bytes, not ${seed.length}`);
  return (await ifSupported(webCryptoSigner(seed))) ?? sodiumSigner(seed);
}

export async function createVerify(publicKey: Uint8Array): Promise<Verify> {
  if (publicKey.length !== PUBLIC_KEY_BYTES)
    throw new RangeError(`a public key has ${PUBLIC_KEY_BYTES} bytes, not ${publicKey.length}`);
  return (await ifSupported(webCryptoVerify(publicKey))) ?? sodiumVerify(publicKey);
}

/** Returns the form that pages and configurations contain: `ed25519:` and 43 letters. */
export function formatPublicKey(publicKey: Uint8Array): string {
  const text = btoa(String.fromCharCode(...publicKey));
  return textPrefix + text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Reads what `formatPublicKey` and `sheaf keys new` write. @throws RangeError for any other text */
export function parsePublicKey(text: string): Uint8Array {
  const match = /^ed25519:([A-Za-z0-9_-]{43})$/.exec(text);
  if (match === null) throw new RangeError(`not a public key: ${text}`);
  const bytes = fromBase64Url(match[1]!);
  // The last letter has two unused bits. They must be 0, so that a key has one text.
  if (formatPublicKey(bytes) !== text) throw new RangeError(`not a public key: ${text}`);
  return bytes;
}

function fromBase64Url(text: string): Uint8Array {
  const letters = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}

async function ifSupported<Value>(attempt: Promise<Value>): Promise<Value | undefined> {
  try {
    return await attempt;
  } catch (error) {
    if (error instanceof Error && error.name === 'NotSupportedError') return undefined;
    throw error;
  }
}

async function webCryptoSigner(seed: Uint8Array): Promise<Signer> {
  const encoded = new Uint8Array(privateKeyInfoPrefix.length + seed.length);
  encoded.set(privateKeyInfoPrefix);
  encoded.set(seed, privateKeyInfoPrefix.length);
  try {
    const readable = await crypto.subtle.importKey('pkcs8', encoded, 'Ed25519', true, ['sign']);
    const { x } = await crypto.subtle.exportKey('jwk', readable);
    const key = await crypto.subtle.importKey('pkcs8', encoded, 'Ed25519', false, ['sign']);
    return {
      publicKey: fromBase64Url(x!),
      sign: async (message) => new Uint8Array(await crypto.subtle.sign('Ed25519', key, message)),
    };
  } finally {
    encoded.fill(0);
  }
}

async function webCryptoVerify(publicKey: Uint8Array): Promise<Verify> {
  const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
  return (message, signature) => crypto.subtle.verify('Ed25519', key, signature, message);
}

async function loadSodium() {
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  return sodium;
}

async function sodiumSigner(seed: Uint8Array): Promise<Signer> {
  const sodium = await loadSodium();
  const { publicKey, privateKey } = sodium.crypto_sign_seed_keypair(seed);
  return { publicKey, sign: (message) => Promise.resolve(sodium.crypto_sign_detached(message, privateKey)) };
}

async function sodiumVerify(publicKey: Uint8Array): Promise<Verify> {
  const sodium = await loadSodium();
  return (message, signature) => Promise.resolve(sodium.crypto_sign_verify_detached(signature, message, publicKey));
}
