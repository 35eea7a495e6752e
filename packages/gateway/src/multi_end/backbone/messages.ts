import { BackboneViolation, FieldReader, FieldWriter } from './byte_fields.js';
import { publicKeyBytes, signatureBytes } from '../../values/node_key.js';
import { grantKeyKind, maxSealed, sessionBytes, snapshotKind } from './sealed_message.js';

/** Version of the protocol. Nodes of different versions do not talk, so a site runs one release. */
export const backboneVersion = 6;

/** Maximum size of a message of the engine: a lease, its return or a report */
const maxLease = 512;
const maxName = 64;
const maxReason = 200;
export const nonceBytes = 32;
export const runBytes = 16;

/**
 * States of a backend, by their codes. It accepts connections, or lets the ones that it has end. One that another process has
 * replaced accepts none, and keeps those that it has.
 */
const backendStates = ['serving', 'draining', 'replaced'] as const;
export type BackendState = (typeof backendStates)[number];

/** Why a process that another one has replaced sends others away */
export const replacedReason = 'another process has taken the place of this one';

/**
 * Messages between nodes, in order, over one stream. A gateway calls its backend. It numbers each connection that it
 * hands over, and never uses a number again on this stream.
 */
export type BackboneMessage =
  /** Backend, as its first message: what the caller must sign */
  | { type: 'challenge'; version: number; nonce: Buffer; session: Buffer }
  /** `run` identifies the caller's process. After a restart it differs, and everything handed over before is void. */
  | { type: 'hello'; version: number; name: string; run: Buffer; publicKey: Buffer; signature: Buffer }
  /** `run` identifies the backend's process. */
  | { type: 'welcome'; run: Buffer }
  /** The stream ends with this message. */
  | { type: 'farewell'; reason: string }
  | { type: 'snapshot'; connection: number; sealed: Buffer }
  | { type: 'accepted'; connection: number }
  | { type: 'refused'; connection: number; reason: string }
  /** Both directions: a message of the engine about credit, and about whether the client was heard */
  | { type: 'lease'; connection: number; bytes: Buffer }
  /** The backend no longer has the connection: its path is gone (gateway), or it has finished (backend). */
  | { type: 'left'; connection: number; code: number }
  /** Gateway: no new requests on this connection. `left` follows when none is in flight. */
  | { type: 'release'; connection: number }
  /** Gateway, once, on the connection for runs: the key of its grants, sealed */
  | { type: 'grant_key'; sealed: Buffer }
  /** Backend, once: it opens grants of this key from now on. `ownRecovery`: also those of paths with recovery of its own. */
  | { type: 'grant_key_taken'; ownRecovery: boolean }
  /** Gateway: the backend stops accepting connections, or starts again. */
  | { type: 'drain'; drains: boolean }
  /** Gateway, once the backend drains: no exchange needs the backend any more. */
  | { type: 'done' }
  | { type: 'ping'; sequence: number }
  /**
   * Backend. `load`: share of the time, in thousandths, in which its process was busy. `requests`: requests in flight.
   * Bytes count from its start. `returns`: it can send from the address of a gateway.
   */
  | {
      type: 'pong';
      sequence: number;
      state: BackendState;
      load: number;
      connections: number;
      requests: number;
      bytesSent: number;
      bytesReceived: number;
      returns: boolean;
    };

type MessageType = BackboneMessage['type'];

const codes = {
  challenge: 1,
  hello: 2,
  welcome: 3,
  farewell: 4,
  snapshot: 5,
  accepted: 6,
  refused: 7,
  lease: 8,
  left: 9,
  release: 10,
  drain: 11,
  ping: 12,
  pong: 13,
  grant_key: 14,
  grant_key_taken: 15,
  done: 16,
} as const satisfies Record<MessageType, number>;
const types = new Map<number, MessageType>(Object.entries(codes).map(([type, code]) => [code, type as MessageType]));

const maxSnapshot = maxSealed(snapshotKind);
/** Size of the largest message, without its length field */
export const maxMessage = 1 + 4 + 2 + maxSnapshot;

/** Encodes a message with its length in 32 bits before it. */
export function encodeMessage(message: BackboneMessage): Buffer {
  const fields = writeFields(new FieldWriter().integer(codes[message.type], 1), message).finish();
  return Buffer.concat([new FieldWriter().integer(fields.length, 4).finish(), fields]);
}

function writeFields(writer: FieldWriter, message: BackboneMessage): FieldWriter {
  switch (message.type) {
    case 'challenge':
      return writer.integer(message.version, 2).fixed(message.nonce).fixed(message.session);
    case 'hello':
      return writer
        .integer(message.version, 2)
        .text(message.name)
        .fixed(message.run)
        .fixed(message.publicKey)
        .fixed(message.signature);
    case 'welcome':
      return writer.fixed(message.run);
    case 'farewell':
      return writer.text(printable(message.reason));
    case 'snapshot':
      return writer.integer(message.connection, 4).bytes(message.sealed);
    case 'grant_key':
      return writer.bytes(message.sealed);
    case 'grant_key_taken':
      return writer.integer(message.ownRecovery ? 1 : 0, 1);
    case 'done':
      return writer;
    case 'accepted':
    case 'release':
      return writer.integer(message.connection, 4);
    case 'refused':
      return writer.integer(message.connection, 4).text(printable(message.reason));
    case 'lease':
      return writer.integer(message.connection, 4).bytes(message.bytes);
    case 'left':
      return writer.integer(message.connection, 4).integer(message.code, 6);
    case 'drain':
      return writer.integer(message.drains ? 1 : 0, 1);
    case 'ping':
      return writer.integer(message.sequence, 4);
    case 'pong':
      return writer
        .integer(message.sequence, 4)
        .integer(backendStates.indexOf(message.state), 1)
        .integer(message.load, 2)
        .integer(message.connections, 4)
        .integer(message.requests, 4)
        .integer(message.bytesSent, 6)
        .integer(message.bytesReceived, 6)
        .integer(message.returns ? 1 : 0, 1);
  }
}

/** Decodes a message. `bytes` does not contain the length. @throws BackboneViolation */
export function decodeMessage(bytes: Buffer): BackboneMessage {
  const reader = new FieldReader(bytes);
  const code = reader.integer(1);
  const type = types.get(code);
  if (type === undefined) throw new BackboneViolation(`the message type ${code} is unknown`);
  const message = readFields(reader, type);
  reader.end();
  return message;
}

function readFields(reader: FieldReader, type: MessageType): BackboneMessage {
  switch (type) {
    case 'challenge':
      return { type, version: versionOf(reader), nonce: reader.fixed(nonceBytes), session: reader.fixed(sessionBytes) };
    case 'hello':
      return {
        type,
        version: versionOf(reader),
        name: reader.text(maxName),
        run: reader.fixed(runBytes),
        publicKey: reader.fixed(publicKeyBytes),
        signature: reader.fixed(signatureBytes),
      };
    case 'welcome':
      return { type, run: reader.fixed(runBytes) };
    case 'farewell':
      return { type, reason: reader.text(maxReason * 4) };
    case 'snapshot':
      return { type, connection: reader.integer(4), sealed: reader.bytes(maxSnapshot) };
    case 'grant_key':
      return { type, sealed: reader.bytes(maxSealed(grantKeyKind)) };
    case 'grant_key_taken':
      return { type, ownRecovery: flag(reader) };
    case 'done':
      return { type };
    case 'accepted':
    case 'release':
      return { type, connection: reader.integer(4) };
    case 'refused':
      return { type, connection: reader.integer(4), reason: reader.text(maxReason * 4) };
    case 'lease':
      return { type, connection: reader.integer(4), bytes: reader.bytes(maxLease) };
    case 'left':
      return { type, connection: reader.integer(4), code: reader.integer(6) };
    case 'drain':
      return { type, drains: flag(reader) };
    case 'ping':
      return { type, sequence: reader.integer(4) };
    case 'pong':
      return {
        type,
        sequence: reader.integer(4),
        state: stateOf(reader),
        load: reader.integer(2),
        connections: reader.integer(4),
        requests: reader.integer(4),
        bytesSent: reader.integer(6),
        bytesReceived: reader.integer(6),
        returns: flag(reader),
      };
  }
}

/** Reads the version first, since with another version the following fields may mean anything. */
function versionOf(reader: FieldReader): number {
  const version = reader.integer(2);
  if (version !== backboneVersion) throw new BackboneVersionMismatch(version);
  return version;
}

/** The other node runs another release. */
export class BackboneVersionMismatch extends BackboneViolation {
  constructor(readonly theirs: number) {
    super(
      `the other node speaks version ${theirs} of the backbone, this one ${backboneVersion}: run the same release of Sheaf on both`,
    );
  }
}

function stateOf(reader: FieldReader): BackendState {
  const state = backendStates[reader.integer(1)];
  if (state === undefined) throw new BackboneViolation('the state of a backend is unknown');
  return state;
}

function flag(reader: FieldReader): boolean {
  const value = reader.integer(1);
  if (value > 1) throw new BackboneViolation('a flag is neither 0 nor 1');
  return value === 1;
}

/** Makes a reason fit for the log of another node. */
function printable(reason: string): string {
  return reason.replace(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, maxReason);
}
