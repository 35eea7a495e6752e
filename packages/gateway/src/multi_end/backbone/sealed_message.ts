import type sodium from 'libsodium-wrappers';
import { FieldReader, FieldWriter } from './byte_fields.js';
import { NodePublicKey, publicKeyBytes, signatureBytes, type NodeKey } from '../../values/node_key.js';

export type Sodium = typeof sodium;

/**
 * What one node sends to another and no third may read or write, whatever carries it: it contains packet keys, so the
 * sending node signs it and seals it for the one node that may read it. Inside the seal, with lengths in bits:
 *
 * version (8), sender's key (256), receiver's key (256), session (128), counter (48), content, signature (512)
 *
 * The receiver chose the session at random for one connection of the backbone, and the counter begins with 1 there for
 * each kind of content. So nothing is accepted twice, by another node, or after a restart.
 */
const version = 1;
export const sessionBytes = 16;
const counterBytes = 6;
const headerBytes = 1 + 2 * publicKeyBytes + sessionBytes + counterBytes;
/** Overhead of a sealed box: the ephemeral key and the authentication tag */
const sealBytes = 48;

/** A kind of content. A signature of one kind does not serve for another. */
export interface SealedKind {
  /** Name of the kind and its version, which no other use of the key may have. */
  readonly name: string;
  /** Maximum size of the content in bytes */
  readonly maxBytes: number;
}

/** The state of a connection that a backend takes over */
export const snapshotKind: SealedKind = { name: 'snapshot 1', maxBytes: 8 * 1024 };
/** The key that seals grants (`direct_return/protocol/sealed_grant.ts`) */
export const grantKeyKind: SealedKind = { name: 'grant key 1', maxBytes: 32 };

/** Maximum size in bytes after sealing */
export const maxSealed = ({ maxBytes }: SealedKind): number => maxBytes + headerBytes + signatureBytes + sealBytes;

const signatureContext = ({ name }: SealedKind): Buffer => Buffer.from(`sheaf sealed ${name}\0`);

export type SealRefusal = 'unreadable' | 'version' | 'sender' | 'receiver' | 'session' | 'replayed' | 'signature';

const refusals: Record<SealRefusal, string> = {
  unreadable: 'it is not sealed to this node, or was damaged',
  version: 'it has a version that this node does not know',
  sender: 'it comes from another node than the one that brought it',
  receiver: 'it is meant for another node',
  session: 'it was made for an earlier connection between the nodes',
  replayed: 'it is not the next one: it was repeated, left out or put into another order',
  signature: 'its signature is wrong',
};

/** The node refused what was sealed. */
export class SealRefused extends Error {
  constructor(
    readonly refusal: SealRefusal,
    kind: SealedKind,
  ) {
    super(`the ${kind.name.replace(/ \d+$/, '')} is refused: ${refusals[refusal]}`);
    this.name = 'SealRefused';
  }
}

/** One connection between two nodes, as both of them know it */
export interface SealingSession {
  sender: NodePublicKey;
  receiver: NodePublicKey;
  /** Random id of `sessionBytes`, which the receiver chose */
  session: Buffer;
}

/** Seals content of one kind for one node. */
export class Sealer {
  readonly #session: SealingSession;
  readonly #key: NodeKey;
  readonly #sodium: Sodium;
  readonly #kind: SealedKind;
  #counter = 0;

  constructor(key: NodeKey, session: SealingSession, sodium: Sodium, kind: SealedKind) {
    this.#kind = kind;
    this.#key = key;
    this.#session = session;
    this.#sodium = sodium;
  }

  /** Seals `content` and wipes it. @throws RangeError when it is too large */
  seal(content: Buffer): Buffer {
    if (content.length > this.#kind.maxBytes)
      throw new RangeError(`${content.length} bytes are too many to seal as ${this.#kind.name}`);
    const { sender, receiver, session } = this.#session;
    this.#counter += 1;
    const signed = new FieldWriter()
      .integer(version, 1)
      .fixed(sender.bytes)
      .fixed(receiver.bytes)
      .fixed(session)
      .integer(this.#counter, counterBytes)
      .fixed(content)
      .finish();
    content.fill(0);
    const toSign = Buffer.concat([signatureContext(this.#kind), signed]);
    const plain = Buffer.concat([signed, this.#key.sign(toSign)]);
    toSign.fill(0);
    const sealed = this.#sodium.crypto_box_seal(
      plain,
      this.#sodium.crypto_sign_ed25519_pk_to_curve25519(receiver.bytes),
    );
    signed.fill(0);
    plain.fill(0);
    return Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  }
}

/** Opens content of one kind that one node sends over one connection. */
export class Opener {
  readonly #session: SealingSession;
  readonly #sodium: Sodium;
  readonly #publicKey: Uint8Array;
  readonly #privateKey: Uint8Array;
  readonly #kind: SealedKind;
  #counter = 0;

  constructor(key: NodeKey, session: SealingSession, sodium: Sodium, kind: SealedKind) {
    this.#kind = kind;
    this.#session = session;
    this.#sodium = sodium;
    const seed = key.seed();
    const pair = sodium.crypto_sign_seed_keypair(seed);
    this.#publicKey = sodium.crypto_sign_ed25519_pk_to_curve25519(pair.publicKey);
    this.#privateKey = sodium.crypto_sign_ed25519_sk_to_curve25519(pair.privateKey);
    seed.fill(0);
    sodium.memzero(pair.privateKey);
  }

  /** Opens what was sealed. The caller wipes the result. @throws SealRefused */
  open(sealed: Uint8Array): Buffer {
    const plain = this.#unseal(sealed);
    try {
      return this.#check(plain);
    } finally {
      plain.fill(0);
    }
  }

  /** Wipes the key. Nothing can be opened after that. */
  close(): void {
    this.#sodium.memzero(this.#privateKey);
  }

  #refused(refusal: SealRefusal): SealRefused {
    return new SealRefused(refusal, this.#kind);
  }

  #unseal(sealed: Uint8Array): Buffer {
    if (sealed.length > maxSealed(this.#kind)) throw this.#refused('unreadable');
    try {
      const plain = this.#sodium.crypto_box_seal_open(sealed, this.#publicKey, this.#privateKey);
      return Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength);
    } catch {
      throw this.#refused('unreadable');
    }
  }

  #check(plain: Buffer): Buffer {
    if (plain.length < headerBytes + signatureBytes) throw this.#refused('unreadable');
    const signed = plain.subarray(0, -signatureBytes);
    const reader = new FieldReader(signed);
    if (reader.integer(1) !== version) throw this.#refused('version');
    const { sender, receiver, session } = this.#session;
    if (!reader.fixed(publicKeyBytes).equals(sender.bytes)) throw this.#refused('sender');
    if (!reader.fixed(publicKeyBytes).equals(receiver.bytes)) throw this.#refused('receiver');
    if (!reader.fixed(sessionBytes).equals(session)) throw this.#refused('session');
    const counter = reader.integer(counterBytes);
    const toVerify = Buffer.concat([signatureContext(this.#kind), signed]);
    const authentic = sender.verifies(toVerify, plain.subarray(-signatureBytes));
    toVerify.fill(0);
    if (!authentic) throw this.#refused('signature');
    if (counter !== this.#counter + 1) throw this.#refused('replayed');
    this.#counter = counter;
    return Buffer.from(reader.fixed(reader.remaining));
  }
}

/** Loads libsodium on demand, since only nodes that hand over connections need it. */
export async function loadSodium(): Promise<Sodium> {
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  return sodium;
}
