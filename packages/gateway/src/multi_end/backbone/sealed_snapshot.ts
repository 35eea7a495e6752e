import type sodium from 'libsodium-wrappers';
import { FieldReader, FieldWriter } from './byte_fields.js';
import { NodePublicKey, publicKeyBytes, signatureBytes, type NodeKey } from '../../values/node_key.js';

export type Sodium = typeof sodium;

/**
 * The state of a connection as it is sent to a backend. It contains packet keys, so the sending node signs it and seals
 * it for the one node that may read it, whatever carries it. Inside the seal, with lengths in bits:
 *
 * version (8), sender's key (256), receiver's key (256), session (128), counter (48), snapshot, signature (512)
 *
 * The receiver chose the session at random for one connection of the backbone, and the counter begins with 1 there. So
 * no snapshot is accepted twice, by another node, or after a restart.
 */
const version = 1;
export const sessionBytes = 16;
const counterBytes = 6;
/** Separates these signatures from all other uses of the key. */
const signatureContext = Buffer.from('sheaf sealed snapshot 1\0');
const headerBytes = 1 + 2 * publicKeyBytes + sessionBytes + counterBytes;
/** Overhead of a sealed box: the ephemeral key and the authentication tag */
const sealBytes = 48;

/** Maximum size of a snapshot in bytes, before sealing and after */
export const maxSnapshot = 8 * 1024;
export const maxSealed = maxSnapshot + headerBytes + signatureBytes + sealBytes;

export type SnapshotRefusal = 'unreadable' | 'version' | 'sender' | 'receiver' | 'session' | 'replayed' | 'signature';

const refusals: Record<SnapshotRefusal, string> = {
  unreadable: 'it is not sealed to this node, or was damaged',
  version: 'it has a version that this node does not know',
  sender: 'it comes from another node than the one that brought it',
  receiver: 'it is meant for another node',
  session: 'it was made for an earlier connection between the nodes',
  replayed: 'it is not the next one: it was repeated, left out or put into another order',
  signature: 'its signature is wrong',
};

/** The node refused a snapshot. */
export class SnapshotRefused extends Error {
  constructor(readonly refusal: SnapshotRefusal) {
    super(`the snapshot is refused: ${refusals[refusal]}`);
    this.name = 'SnapshotRefused';
  }
}

/** One connection between two nodes, as both of them know it */
export interface SealingSession {
  sender: NodePublicKey;
  receiver: NodePublicKey;
  /** Random id of `sessionBytes`, which the receiver chose */
  session: Buffer;
}

/** Seals snapshots for one backend. */
export class SnapshotSealer {
  readonly #session: SealingSession;
  readonly #key: NodeKey;
  readonly #sodium: Sodium;
  #counter = 0;

  constructor(key: NodeKey, session: SealingSession, sodium: Sodium) {
    this.#key = key;
    this.#session = session;
    this.#sodium = sodium;
  }

  /** Seals a snapshot, and wipes `snapshot`. @throws RangeError when it is too large */
  seal(snapshot: Buffer): Buffer {
    if (snapshot.length > maxSnapshot) throw new RangeError(`a snapshot of ${snapshot.length} bytes is too large`);
    const { sender, receiver, session } = this.#session;
    this.#counter += 1;
    const signed = new FieldWriter()
      .integer(version, 1)
      .fixed(sender.bytes)
      .fixed(receiver.bytes)
      .fixed(session)
      .integer(this.#counter, counterBytes)
      .fixed(snapshot)
      .finish();
    snapshot.fill(0);
    const toSign = Buffer.concat([signatureContext, signed]);
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

/** Opens the snapshots that one node sends over one connection. */
export class SnapshotOpener {
  readonly #session: SealingSession;
  readonly #sodium: Sodium;
  readonly #publicKey: Uint8Array;
  readonly #privateKey: Uint8Array;
  #counter = 0;

  constructor(key: NodeKey, session: SealingSession, sodium: Sodium) {
    this.#session = session;
    this.#sodium = sodium;
    const seed = key.seed();
    const pair = sodium.crypto_sign_seed_keypair(seed);
    this.#publicKey = sodium.crypto_sign_ed25519_pk_to_curve25519(pair.publicKey);
    this.#privateKey = sodium.crypto_sign_ed25519_sk_to_curve25519(pair.privateKey);
    seed.fill(0);
    sodium.memzero(pair.privateKey);
  }

  /** Opens a snapshot. The caller wipes the result. @throws SnapshotRefused */
  open(sealed: Uint8Array): Buffer {
    const plain = this.#unseal(sealed);
    try {
      return this.#check(plain);
    } finally {
      plain.fill(0);
    }
  }

  /** Wipes the key. No snapshot can be opened after that. */
  close(): void {
    this.#sodium.memzero(this.#privateKey);
  }

  #unseal(sealed: Uint8Array): Buffer {
    if (sealed.length > maxSealed) throw new SnapshotRefused('unreadable');
    try {
      const plain = this.#sodium.crypto_box_seal_open(sealed, this.#publicKey, this.#privateKey);
      return Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength);
    } catch {
      throw new SnapshotRefused('unreadable');
    }
  }

  #check(plain: Buffer): Buffer {
    if (plain.length < headerBytes + signatureBytes) throw new SnapshotRefused('unreadable');
    const signed = plain.subarray(0, -signatureBytes);
    const reader = new FieldReader(signed);
    if (reader.integer(1) !== version) throw new SnapshotRefused('version');
    const { sender, receiver, session } = this.#session;
    if (!reader.fixed(publicKeyBytes).equals(sender.bytes)) throw new SnapshotRefused('sender');
    if (!reader.fixed(publicKeyBytes).equals(receiver.bytes)) throw new SnapshotRefused('receiver');
    if (!reader.fixed(sessionBytes).equals(session)) throw new SnapshotRefused('session');
    const counter = reader.integer(counterBytes);
    const toVerify = Buffer.concat([signatureContext, signed]);
    const authentic = sender.verifies(toVerify, plain.subarray(-signatureBytes));
    toVerify.fill(0);
    if (!authentic) throw new SnapshotRefused('signature');
    if (counter !== this.#counter + 1) throw new SnapshotRefused('replayed');
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
