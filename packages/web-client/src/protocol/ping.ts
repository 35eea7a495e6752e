/**
 * Types of datagrams in a page session: one type byte, then an identifier that the response repeats. Datagrams of any
 * other form are dropped.
 */
const PING = 0x00;
const PONG = 0x01;
const IDENTIFIER_LENGTH = 8;

/** Encodes a ping, which the peer answers. `identifier` is any integer from 0 to 2^53 - 1. */
export function encodePing(identifier: number): Uint8Array {
  const bytes = new Uint8Array(1 + IDENTIFIER_LENGTH);
  bytes[0] = PING;
  new DataView(bytes.buffer).setBigUint64(1, BigInt(identifier));
  return bytes;
}

/** Returns the datagram that answers `datagram`; undefined when that is no ping. */
export function answerPing(datagram: Uint8Array): Uint8Array | undefined {
  if (datagram.length !== 1 + IDENTIFIER_LENGTH || datagram[0] !== PING) return undefined;
  const answer = datagram.slice();
  answer[0] = PONG;
  return answer;
}

/** Returns the identifier of the ping that `datagram` answers; undefined when it is no response. */
export function decodePong(datagram: Uint8Array): number | undefined {
  if (datagram.length !== 1 + IDENTIFIER_LENGTH || datagram[0] !== PONG) return undefined;
  const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
  const identifier = view.getBigUint64(1);
  return identifier <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(identifier) : undefined;
}
