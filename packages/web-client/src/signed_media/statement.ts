import { concatenate } from '../protocol/concatenate.js';
import { MAX_VARINT, ProtocolError, readVarint, varintLength, writeVarint } from '../protocol/index.js';
import { SIGNATURE_BYTES, type Signer, type Verify } from './ed25519.js';

const version = 1;
const hashBytes = 32;

/** Frames of one statement. One byte tells their number. */
export const MAXIMUM_FLIGHT = 63;

/** Bytes of a statement with as many frames as it may have, each integer in 8 bytes */
const maximumStatement = 1 + 8 + 8 + 1 + 1 + MAXIMUM_FLIGHT * (8 + hashBytes) + SIGNATURE_BYTES;

/** No other use of a publisher's key may have messages that begin like this. */
const context = new TextEncoder().encode('sheaf signed media 1\0');

/** Which group a statement is about. The bytes of a statement do not contain it, and its signature covers it. */
export interface GroupName {
  readonly broadcast: string;
  readonly track: string;
  readonly group: number;
  /** Units of timestamps in a second */
  readonly timescale: number;
}

export interface SignedFrame {
  /** In units of the track's timescale */
  readonly timestamp: number;
  /** SHA-256 of the payload */
  readonly hash: Uint8Array;
}

/** What a publisher says about some frames of a group. Format: docs/reference/wire.md. */
export interface Statement {
  /** Grows each time that the publisher begins to count its groups anew */
  readonly run: number;
  /** Index of the first frame that it covers */
  readonly first: number;
  readonly frames: readonly SignedFrame[];
  /** Whether the group ends behind these frames */
  readonly last: boolean;
}

export async function signStatement(signer: Signer, name: GroupName, statement: Statement): Promise<Uint8Array> {
  const content = encodeContent(statement);
  const signature = await signer.sign(signedBytes(name, content));
  return concatenate(content, signature);
}

/** Returns the statement, and undefined when it is malformed, or is none of this publisher about this group. */
export async function openStatement(
  verify: Verify,
  name: GroupName,
  bytes: Uint8Array,
): Promise<Statement | undefined> {
  if (bytes.length > maximumStatement || bytes.length < SIGNATURE_BYTES) return undefined;
  const content = bytes.subarray(0, -SIGNATURE_BYTES);
  const statement = decodeContent(content);
  if (statement === undefined) return undefined;
  const genuine = await verify(signedBytes(name, content), bytes.subarray(-SIGNATURE_BYTES));
  return genuine ? statement : undefined;
}

function encodeContent({ run, first, frames, last }: Statement): Uint8Array {
  if (frames.length > MAXIMUM_FLIGHT) throw new RangeError(`a statement covers ${MAXIMUM_FLIGHT} frames at most`);
  const times = frames.reduce((total, { timestamp }) => total + varintLength(timestamp), 0);
  const head = 1 + varintLength(run) + varintLength(first) + 1 + 1;
  const bytes = new Uint8Array(head + times + frames.length * hashBytes);
  bytes[0] = version;
  let offset = writeVarint(bytes, writeVarint(bytes, 1, run), first);
  bytes[offset] = last ? 1 : 0;
  bytes[offset + 1] = frames.length;
  offset += 2;
  for (const { timestamp, hash } of frames) {
    offset = writeVarint(bytes, offset, timestamp);
    bytes.set(hash, offset);
    offset += hashBytes;
  }
  return bytes;
}

function decodeContent(bytes: Uint8Array): Statement | undefined {
  try {
    return new ContentReader(bytes).read();
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/** Reads the bytes before a signature. All methods throw a ProtocolError when they are malformed. */
class ContentReader {
  #offset = 0;

  constructor(private readonly bytes: Uint8Array) {}

  read(): Statement {
    if (this.#byte() !== version) throw malformed();
    const [run, first] = [this.#integer(), this.#integer()];
    const [last, count] = [this.#byte(), this.#byte()];
    if (last > 1 || count > MAXIMUM_FLIGHT || first + count > MAX_VARINT) throw malformed();
    const frames = Array.from({ length: count }, () => ({ timestamp: this.#integer(), hash: this.#hash() }));
    if (this.#offset !== this.bytes.length) throw malformed();
    return { run, first, frames, last: last === 1 };
  }

  #byte(): number {
    const byte = this.bytes[this.#offset];
    if (byte === undefined) throw malformed();
    this.#offset += 1;
    return byte;
  }

  #integer(): number {
    const integer = readVarint(this.bytes, this.#offset);
    if (integer === undefined) throw malformed();
    this.#offset = integer.end;
    return integer.value;
  }

  #hash(): Uint8Array {
    const hash = this.bytes.slice(this.#offset, this.#offset + hashBytes);
    if (hash.length < hashBytes) throw malformed();
    this.#offset += hashBytes;
    return hash;
  }
}

function malformed(): ProtocolError {
  return new ProtocolError('malformed', 'not a statement about frames');
}

/** Returns the message that is signed. Texts have their length before them, so no two names have the same bytes. */
function signedBytes({ broadcast, track, group, timescale }: GroupName, content: Uint8Array): Uint8Array {
  return concatenate(context, text(broadcast), text(track), integer(group), integer(timescale), content);
}

function text(value: string): Uint8Array {
  const bytes = new TextEncoder().encode(value);
  return concatenate(integer(bytes.length), bytes);
}

function integer(value: number): Uint8Array {
  const bytes = new Uint8Array(varintLength(value));
  writeVarint(bytes, 0, value);
  return bytes;
}
