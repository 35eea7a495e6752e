import { publicKeyBytes, signatureBytes, NodePublicKey, type NodeKey } from '../values/node_key.js';

/** Why an entry of the registry is not used */
export type RefusalReason =
  /** Nobody of that name, or of that key, is in the configuration. */
  | 'unknown'
  /** The signature is wrong, or by another key than the configuration says. */
  | 'forged'
  /** It is older than what was there before. */
  | 'replayed'
  /** Another node has what it claims. */
  | 'taken'
  | 'oversized'
  | 'malformed'
  /** The key changes too often. */
  | 'flood'
  /** There are more entries than anybody reads. */
  | 'excess';

export const refusalReasons: readonly RefusalReason[] = [
  'unknown',
  'forged',
  'replayed',
  'taken',
  'oversized',
  'malformed',
  'flood',
  'excess',
];

export class EntryRefused extends Error {
  constructor(
    readonly reason: RefusalReason,
    message: string,
  ) {
    super(message);
    this.name = 'EntryRefused';
  }
}

/** Where an entry lies, which its signature covers: so it is worth nothing under another key or in another registry. */
export interface EntryPlace {
  site: string;
  key: string;
}

/** Form of an entry: this byte, the public key, the signature, the body */
const form = 1;
const headBytes = 1 + publicKeyBytes + signatureBytes;

/** Returns the bytes that are signed. */
function signed({ site, key }: EntryPlace, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`sheaf registry 1\0${site}\0${key}\0`), body]);
}

export function signEntry(key: NodeKey, place: EntryPlace, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(form), key.publicKey.bytes, key.sign(signed(place, body)), body]);
}

/** An entry whose signature fits the key that it names, which may be anybody's */
export interface OpenedEntry {
  signer: NodePublicKey;
  body: Buffer;
}

/** Returns the body of an entry whose signature nobody has checked, to find out whether that is worth it. @throws EntryRefused */
export function uncheckedBody(value: Buffer, { key }: EntryPlace): Buffer {
  if (value.length < headBytes || value[0] !== form) throw new EntryRefused('malformed', `${key} is no signed entry`);
  return value.subarray(headBytes);
}

/** @throws EntryRefused */
export function openEntry(value: Buffer, place: EntryPlace): OpenedEntry {
  const body = uncheckedBody(value, place);
  const signer = NodePublicKey.fromBytes(value.subarray(1, 1 + publicKeyBytes));
  const signature = value.subarray(1 + publicKeyBytes, headBytes);
  if (!signer.verifies(signed(place, body), signature))
    throw new EntryRefused('forged', `the signature of ${place.key} is wrong`);
  return { signer, body };
}

/** Parses the JSON of a body with a schema. @throws EntryRefused */
export function parseBody<Value>(
  key: string,
  body: Buffer,
  schema: { safeParse(value: unknown): { success: true; data: Value } | { success: false } },
): Value {
  const parsed = schema.safeParse(jsonOf(body));
  if (!parsed.success) throw new EntryRefused('malformed', `${key} does not say what its readers expect`);
  return parsed.data;
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}
