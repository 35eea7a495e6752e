import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomUUID,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto';
import { link, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemErrorCode, UserError } from '../errors/user_error.js';
import { readSmallFile } from './regular_file.js';

/** Sizes of Ed25519 keys and signatures in bytes (RFC 8032 §5.1) */
export const publicKeyBytes = 32;
export const signatureBytes = 64;

/** Bytes before the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410 §4) */
const subjectPublicKeyInfoPrefix = Buffer.from('302a300506032b6570032100', 'hex');
const textPrefix = 'ed25519:';

/** The Ed25519 key that identifies a node to the other nodes */
export class NodePublicKey {
  private constructor(readonly bytes: Buffer) {}

  /** @throws RangeError unless it has 32 bytes */
  static fromBytes(bytes: Uint8Array): NodePublicKey {
    if (bytes.length !== publicKeyBytes)
      throw new RangeError(`a public key has ${publicKeyBytes} bytes, not ${bytes.length}`);
    return new NodePublicKey(Buffer.from(bytes));
  }

  /** Parses `ed25519:` and 43 letters, as `sheaf keys new` prints them; undefined for any other text. */
  static fromText(text: string): NodePublicKey | undefined {
    if (!/^ed25519:[A-Za-z0-9_-]{43}$/.test(text)) return undefined;
    const bytes = Buffer.from(text.slice(textPrefix.length), 'base64url');
    // The last letter has two unused bits. They must be 0, so that a key has one text.
    return bytes.toString('base64url') === text.slice(textPrefix.length) ? new NodePublicKey(bytes) : undefined;
  }

  /** Returns the form that configurations contain. */
  toString(): string {
    return textPrefix + this.bytes.toString('base64url');
  }

  equals(other: NodePublicKey): boolean {
    return this.bytes.equals(other.bytes);
  }

  /** SHA-256 of the SubjectPublicKeyInfo, in hexadecimal; clients of the transport pin it. */
  get hash(): string {
    return createHash('sha256').update(this.#encoded()).digest('hex');
  }

  verifies(message: Uint8Array, signature: Uint8Array): boolean {
    return (
      signature.length === signatureBytes &&
      verify(null, message, createPublicKey({ key: this.#encoded(), format: 'der', type: 'spki' }), signature)
    );
  }

  #encoded(): Buffer {
    return Buffer.concat([subjectPublicKeyInfoPrefix, this.bytes]);
  }
}

/** The private key of a node. Everything that can be printed of it is public. */
export class NodeKey {
  readonly #privateKey: KeyObject;
  readonly publicKey: NodePublicKey;

  private constructor(privateKey: KeyObject) {
    this.#privateKey = privateKey;
    const encoded = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
    this.publicKey = NodePublicKey.fromBytes(encoded.subarray(subjectPublicKeyInfoPrefix.length));
  }

  static generate(): NodeKey {
    return new NodeKey(generateKeyPairSync('ed25519').privateKey);
  }

  /** @throws TypeError when the PEM holds no Ed25519 key */
  static fromPem(pem: string): NodeKey {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType !== 'ed25519')
      throw new TypeError(`it is a key for ${key.asymmetricKeyType ?? 'something else'}`);
    return new NodeKey(key);
  }

  sign(message: Uint8Array): Buffer {
    return sign(null, message, this.#privateKey);
  }

  /** Returns PKCS #8. */
  toPem(): string {
    return this.#privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
  }

  /** Returns the 32 bytes of the private key (RFC 8032 §5.1.5). The caller wipes them. */
  seed(): Buffer {
    return Buffer.from(this.#privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
  }

  toJSON(): string {
    return this.publicKey.toString();
  }
}

/** Returns the file of the key of the node `name`: in `.sheaf/keys/` beside the configuration file. */
export function nodeKeyFile(directory: string, name: string): string {
  return join(directory, '.sheaf', 'keys', `${name}.key`);
}

/** Writes a new key that only this user can read. @throws UserError when a key exists or the directory refuses */
export async function createNodeKey(file: string): Promise<NodeKey> {
  const key = NodeKey.generate();
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeWhole(file, key.toPem());
    return key;
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST')
      throw new UserError('KEY_EXISTS', `${file} already holds a key`, {
        hint: 'remove it first, and tell the new public key to all nodes that know the old one',
        cause: error,
      });
    throw new UserError(
      'DIRECTORY_UNWRITABLE',
      `the key ${file} cannot be written (${systemErrorCode(error) ?? 'unknown error'})`,
      { hint: 'make its directory writable', cause: error },
    );
  }
}

/** Writes a file that nobody sees before it is complete, and that replaces none. @throws Error EEXIST when there is one */
async function writeWhole(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    await link(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Mode bit that lets every user read a file. The group may read it, since the group may exist for this key. */
const othersMayRead = 0o004;

/** Reads the key of a node. @throws UserError when the file cannot be read, or every user can read it */
export async function readNodeKey(file: string): Promise<NodeKey> {
  const refuse = (message: string, hint: string, cause?: unknown): UserError =>
    new UserError('KEY_UNUSABLE', message, { hint, cause });
  const [pem, { mode }] = await Promise.all([readSmallFile(file), stat(file)]).catch((error: unknown) => {
    throw refuse(
      `the node key ${file} cannot be read (${systemErrorCode(error) ?? 'unknown error'})`,
      'make one with `sheaf keys new`, or correct `key`',
      error,
    );
  });
  if ((mode & othersMayRead) !== 0)
    throw refuse(
      `every user of this machine can read the node key ${file}`,
      `\`chmod 600 ${file}\`, or make a new one when somebody may have read it`,
    );
  try {
    return NodeKey.fromPem(pem);
  } catch (error) {
    throw refuse(`${file} holds no Ed25519 key in PEM form`, 'make one with `sheaf keys new`', error);
  }
}

/** Loads the key of a node that configures none, and creates it when it does not exist. @throws UserError */
export async function loadDevelopmentKey(directory: string, name: string): Promise<NodeKey> {
  const file = nodeKeyFile(directory, name);
  try {
    return await createNodeKey(file);
  } catch (error) {
    if (systemErrorCode(error) !== 'KEY_EXISTS') throw error;
    return readNodeKey(file);
  }
}
