import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test, vi } from 'vitest';
import { NodeKey, NodePublicKey } from '../../../src/values/node_key.js';
import {
  grantKeyKind,
  loadSodium,
  Opener,
  SealRefused,
  Sealer,
  sessionBytes,
  snapshotKind,
  type SealedKind,
  type SealingSession,
} from '../../../src/multi_end/backbone/sealed_message.js';

const primary = NodeKey.generate();
const backend = NodeKey.generate();
const stranger = NodeKey.generate();
const session = randomBytes(sessionBytes);
const secret = Buffer.from('the keys of a path');

const makeSealer = async (key: NodeKey, of: SealingSession, kind: SealedKind = snapshotKind): Promise<Sealer> =>
  new Sealer(key, of, await loadSodium(), kind);
const makeOpener = async (key: NodeKey, of: SealingSession, kind: SealedKind = snapshotKind): Promise<Opener> =>
  new Opener(key, of, await loadSodium(), kind);

let opener: Opener;
beforeEach(
  async () =>
    void (opener = await makeOpener(backend, { sender: primary.publicKey, receiver: backend.publicKey, session })),
);

const sealerOf = (from = primary, to = backend, chosen = session): Promise<Sealer> =>
  makeSealer(from, { sender: from.publicKey, receiver: to.publicKey, session: chosen });
const refusal = (sealed: Uint8Array): string => {
  try {
    opener.open(sealed);
    return 'taken';
  } catch (error) {
    if (!(error instanceof SealRefused)) throw error;
    return error.refusal;
  }
};

test('a snapshot arrives as it was, and the plain one is wiped', async () => {
  const sealer = await sealerOf();
  const plain = Buffer.from(secret);
  const sealed = sealer.seal(plain);
  expect(plain.every((byte) => byte === 0)).toBe(true);
  expect(sealed.includes(secret)).toBe(false);
  expect(opener.open(sealed)).toEqual(secret);
  expect(opener.open(sealer.seal(Buffer.from('next')))).toEqual(Buffer.from('next'));
});

test('what is signed and what is verified holds the keys, and is wiped', async () => {
  const signed = vi.spyOn(NodeKey.prototype, 'sign');
  const verified = vi.spyOn(NodePublicKey.prototype, 'verifies');
  opener.open((await sealerOf()).seal(Buffer.from(secret)));
  const buffers = [...signed.mock.calls, ...verified.mock.calls].map(([buffer]) => buffer);
  vi.restoreAllMocks();
  expect(buffers).toHaveLength(2);
  for (const buffer of buffers) expect(buffer.every((byte) => byte === 0)).toBe(true);
});

test('a snapshot is taken once and in order', async () => {
  const sealer = await sealerOf();
  const [first, second] = [sealer.seal(Buffer.from(secret)), sealer.seal(Buffer.from(secret))];
  expect(refusal(second)).toBe('replayed');
  expect(refusal(first)).toBe('taken');
  expect(refusal(first)).toBe('replayed');
  expect(refusal(second)).toBe('taken');
});

test('a snapshot of another connection, as before a restart, is refused', async () => {
  const earlier = await sealerOf(primary, backend, randomBytes(sessionBytes));
  expect(refusal(earlier.seal(Buffer.from(secret)))).toBe('session');
});

test('a snapshot for another backend is refused, also when it was sealed again by who could read it', async () => {
  const other = await makeOpener(stranger, { sender: primary.publicKey, receiver: stranger.publicKey, session });
  const sealed = (await sealerOf(primary, stranger)).seal(Buffer.from(secret));
  expect(refusal(sealed)).toBe('unreadable');
  const { default: sodium } = await import('libsodium-wrappers');
  await sodium.ready;
  const seed = stranger.seed();
  const pair = sodium.crypto_sign_seed_keypair(seed);
  const box = {
    public: sodium.crypto_sign_ed25519_pk_to_curve25519(pair.publicKey),
    private: sodium.crypto_sign_ed25519_sk_to_curve25519(pair.privateKey),
  };
  const plain = sodium.crypto_box_seal_open(sealed, box.public, box.private);
  const to = sodium.crypto_sign_ed25519_pk_to_curve25519(backend.publicKey.bytes);
  expect(refusal(sodium.crypto_box_seal(plain, to))).toBe('receiver');
  // With the receiver's name put right, the signature is no longer one.
  const forged = Buffer.from(plain);
  backend.publicKey.bytes.copy(forged, 1 + 32);
  expect(refusal(sodium.crypto_box_seal(forged, to))).toBe('signature');
  expect(other.open(sealed)).toEqual(secret);
});

test("a snapshot of a stranger is refused, also in the primary's name", async () => {
  expect(refusal((await sealerOf(stranger)).seal(Buffer.from(secret)))).toBe('sender');
  const liar = await makeSealer(stranger, { sender: primary.publicKey, receiver: backend.publicKey, session });
  expect(refusal(liar.seal(Buffer.from(secret)))).toBe('signature');
});

test('a snapshot that is cut or damaged anywhere is refused', async () => {
  const sealed = (await sealerOf()).seal(Buffer.from(secret));
  for (let length = 0; length < sealed.length; length++) expect(refusal(sealed.subarray(0, length))).toBe('unreadable');
  for (let index = 0; index < sealed.length; index++) {
    const damaged = Buffer.from(sealed);
    damaged[index]! ^= 1 << (index % 8);
    expect(refusal(damaged)).toBe('unreadable');
  }
  expect(refusal(Buffer.concat([sealed, Buffer.from([0])]))).toBe('unreadable');
  expect(refusal(sealed)).toBe('taken');
});

test('sizes are bounded on both sides', async () => {
  const sealer = await sealerOf();
  expect(() => sealer.seal(Buffer.alloc(snapshotKind.maxBytes + 1))).toThrow(RangeError);
  expect(opener.open(sealer.seal(Buffer.alloc(snapshotKind.maxBytes, 1)))).toHaveLength(snapshotKind.maxBytes);
  expect(refusal(Buffer.alloc(1_000_000))).toBe('unreadable');
});

test('what is sealed as one kind is not taken as another', async () => {
  const parties = { sender: primary.publicKey, receiver: backend.publicKey, session };
  const sealed = (await makeSealer(primary, parties, grantKeyKind)).seal(Buffer.alloc(32, 1));
  expect(refusal(sealed)).toBe('signature');
  const grantKeys = await makeOpener(backend, parties, grantKeyKind);
  const snapshot = (await sealerOf()).seal(Buffer.alloc(32, 2));
  expect(() => grantKeys.open(snapshot)).toThrow('the grant key is refused: its signature is wrong');
  // Each kind counts for itself.
  expect(grantKeys.open(sealed)).toEqual(Buffer.alloc(32, 1));
  expect(opener.open(snapshot)).toEqual(Buffer.alloc(32, 2));
  expect(() => grantKeys.open(sealed)).toThrow('it is not the next one');
});
