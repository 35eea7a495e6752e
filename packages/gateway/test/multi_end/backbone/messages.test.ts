import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { BackboneViolation } from '../../../src/multi_end/backbone/byte_fields.js';
import { MessageReader } from '../../../src/multi_end/backbone/message_reader.js';
import {
  backboneVersion,
  BackboneVersionMismatch,
  decodeMessage,
  encodeMessage,
  maxMessage,
  nonceBytes,
  runBytes,
  type BackboneMessage,
} from '../../../src/multi_end/backbone/messages.js';
import { publicKeyBytes, signatureBytes } from '../../../src/values/node_key.js';
import { grantKeyKind, maxSealed, sessionBytes, snapshotKind } from '../../../src/multi_end/backbone/sealed_message.js';

const maxInteger = 0xffff_ffff;
const messages: BackboneMessage[] = [
  { type: 'challenge', version: backboneVersion, nonce: randomBytes(nonceBytes), session: randomBytes(sessionBytes) },
  {
    type: 'hello',
    version: backboneVersion,
    name: 'site',
    run: randomBytes(runBytes),
    publicKey: randomBytes(publicKeyBytes),
    signature: randomBytes(signatureBytes),
  },
  { type: 'welcome', run: randomBytes(runBytes) },
  { type: 'farewell', reason: 'der Schlüssel ist unbekannt' },
  { type: 'snapshot', connection: 1, sealed: randomBytes(maxSealed(snapshotKind)) },
  { type: 'accepted', connection: maxInteger },
  { type: 'refused', connection: 2, reason: '' },
  { type: 'lease', connection: 3, bytes: randomBytes(512) },
  { type: 'left', connection: 4, code: 0x5ea0 },
  { type: 'release', connection: 4 },
  { type: 'grant_key', sealed: randomBytes(maxSealed(grantKeyKind)) },
  { type: 'grant_key_taken', ownRecovery: true },
  { type: 'drain', drains: true },
  { type: 'done' },
  { type: 'ping', sequence: 5 },
  ...(['serving', 'draining', 'replaced'] as const).map((state): BackboneMessage => ({
    type: 'pong',
    sequence: 5,
    state,
    load: 1_000,
    connections: 6,
    requests: 7,
    bytesSent: 2 ** 47,
    returns: true,
    bytesReceived: 0,
  })),
];

test('every message arrives as it was sent, however the stream is cut', () => {
  const bytes = Buffer.concat(messages.map(encodeMessage));
  for (const size of [1, 2, 7, 1_200, bytes.length]) {
    const reader = new MessageReader();
    const read: BackboneMessage[] = [];
    for (let offset = 0; offset < bytes.length; offset += size)
      read.push(...reader.read(bytes.subarray(offset, offset + size)));
    expect(read).toEqual(messages);
  }
});

test('a message that is cut or longer than its fields is refused', () => {
  for (const message of messages) {
    const bytes = encodeMessage(message).subarray(4);
    for (let length = 0; length < Math.min(bytes.length, 300); length++) {
      expect(() => decodeMessage(bytes.subarray(0, length))).toThrow(BackboneViolation);
    }
    expect(() => decodeMessage(Buffer.concat([bytes, Buffer.from([0])]))).toThrow(BackboneViolation);
  }
});

test('random bytes are a message or refused, and hold no memory', () => {
  const types = new Set<string>();
  for (let seed = 1; seed <= 20_000; seed++) {
    const bytes = pseudoRandom(seed, Math.floor(seed / 15) % 120);
    // Most lengths and types would be refused at once.
    if (bytes.length > 0) bytes[0] = seed % 15;
    try {
      const message = decodeMessage(bytes);
      types.add(message.type);
      if (!encodeMessage(message).subarray(4).equals(bytes))
        throw new Error('it is written otherwise than it was read');
    } catch (error) {
      if (!(error instanceof BackboneViolation)) throw new Error(`seed ${seed}`, { cause: error });
    }
  }
  expect(types.size).toBeGreaterThan(5);
});

test('a message that claims to be too large is refused before it is there', () => {
  for (const length of [0, maxMessage + 1, maxInteger]) {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(length);
    expect(() => [...new MessageReader().read(head)]).toThrow(BackboneViolation);
  }
});

test('another version is told apart from nonsense, with what to do', () => {
  for (const message of messages.slice(0, 2)) {
    const bytes = encodeMessage(message).subarray(4);
    bytes.writeUInt16BE(backboneVersion + 1, 1);
    // What a later version has behind it, nobody knows.
    expect(() => decodeMessage(bytes.subarray(0, 3))).toThrow(BackboneVersionMismatch);
    expect(() => decodeMessage(bytes)).toThrow(/run the same release/);
  }
});

test('a reason that another node wrote cannot forge lines of a log', () => {
  const bytes = encodeMessage({ type: 'farewell', reason: 'first\nsecond\u001b[2J' });
  expect([...new MessageReader().read(bytes)]).toEqual([{ type: 'farewell', reason: 'first second [2J' }]);
  bytes[bytes.length - 1] = 10;
  expect(() => [...new MessageReader().read(bytes)]).toThrow(BackboneViolation);
});

/** Mulberry32: the same bytes for the same seed. */
function pseudoRandom(seed: number, length: number): Buffer {
  let state = seed;
  return Buffer.from(
    Array.from({ length }, () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
      return (mixed ^ (mixed >>> 14)) & 0xff;
    }),
  );
}
