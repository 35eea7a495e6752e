import { isIPv6, SocketAddress } from 'node:net';
import { readTarget, type Target } from '../../tunnels/target_rules.js';

const version = 5;
const noAuthentication = 0;
const noAcceptableMethod = 0xff;
const connectCommand = 1;
const associateCommand = 3;

/** Replies of RFC 1928 §6 */
export const socksReplies = {
  succeeded: 0,
  generalFailure: 1,
  notAllowed: 2,
  networkUnreachable: 3,
  hostUnreachable: 4,
  connectionRefused: 5,
  commandNotSupported: 7,
  addressTypeNotSupported: 8,
} as const;

/** What a program's bytes ask for */
export type SocksStep =
  /** More bytes are needed. */
  | { type: 'more' }
  /** Send these bytes, and read on. */
  | { type: 'answer'; bytes: Buffer }
  /** Lead the connection to the target. `rest`: bytes behind the request, which belong to the tunnel */
  | { type: 'connect'; target: Target; rest: Buffer }
  /** Open a relay for UDP. `port`: the one that the program will send from; 0 when it does not know (RFC 1928 §4) */
  | { type: 'associate'; port: number }
  /** Send these bytes, if there are any, and end the connection. */
  | { type: 'end'; bytes: Buffer | undefined };

/** Returns a reply with the address of a relay. That of the gateway's socket is known to nobody here. */
export function socksReply(reply: number, { address, port } = { address: '0.0.0.0', port: 0 }): Buffer {
  const type = isIPv6(address) ? addressTypes.six : addressTypes.four;
  return Buffer.from([version, reply, 0, type, ...addressBytes(address), port >> 8, port & 0xff]);
}

/** Reads the handshake of SOCKS version 5 (RFC 1928) without I/O. What waits is shorter than one message, so at most 262 bytes. */
export class SocksHandshake {
  #bytes: Buffer = Buffer.alloc(0);
  #greeted = false;

  /** Takes bytes. */
  push(bytes: Uint8Array): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
  }

  /** Returns the next step. Only `more` and `answer` have another one. */
  next(): SocksStep {
    const [first] = this.#bytes;
    if (first !== undefined && first !== version) return { type: 'end', bytes: undefined };
    return this.#greeted ? this.#request() : this.#greeting();
  }

  /** RFC 1928 §3 */
  #greeting(): SocksStep {
    const [, count] = this.#bytes;
    if (count === undefined || this.#bytes.length < 2 + count) return { type: 'more' };
    const offers = this.#take(2 + count)
      .subarray(2)
      .includes(noAuthentication);
    if (!offers) return { type: 'end', bytes: Buffer.from([version, noAcceptableMethod]) };
    this.#greeted = true;
    return { type: 'answer', bytes: Buffer.from([version, noAuthentication]) };
  }

  /** RFC 1928 §4 */
  #request(): SocksStep {
    const [, command, reserved, type] = this.#bytes;
    if (command === undefined) return { type: 'more' };
    if (command !== connectCommand && command !== associateCommand) return refusal(socksReplies.commandNotSupported);
    if (type === undefined) return { type: 'more' };
    if (reserved !== 0) return refusal(socksReplies.generalFailure);
    const length = hostBytes(this.#bytes);
    if (length === undefined) return refusal(socksReplies.addressTypeNotSupported);
    if (this.#bytes.length < length.start + length.size + 2) return { type: 'more' };
    const message = this.#take(length.start + length.size + 2);
    const port = message.readUInt16BE(message.length - 2);
    if (command === associateCommand) return { type: 'associate', port };
    const host = hostText(type, message.subarray(length.start, -2));
    const target = readTarget(host, String(port));
    // A name that is none has no address.
    return target ? { type: 'connect', target, rest: this.#bytes } : refusal(socksReplies.hostUnreachable);
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return taken;
  }
}

const refusal = (reply: number): SocksStep => ({ type: 'end', bytes: socksReply(reply) });

const addressTypes = { four: 1, name: 3, six: 4 };

/** Returns where the host of a request stands; undefined for an unknown type of address. The size of a name may be yet to come. */
function hostBytes(message: Buffer): { start: number; size: number } | undefined {
  switch (message[3]) {
    case addressTypes.four:
      return { start: 4, size: 4 };
    case addressTypes.six:
      return { start: 4, size: 16 };
    case addressTypes.name:
      return { start: 5, size: message[4] ?? 0 };
    default:
      return undefined;
  }
}

/** Returns the bytes of an address, in the order of the network. */
function addressBytes(address: string): number[] {
  if (!isIPv6(address)) return address.split('.').map(Number);
  // RFC 4291 §2.2: `::` stands for as many groups of zeros as are missing.
  const [left = '', right = ''] = new SocketAddress({ address, family: 'ipv6' }).address.split('::');
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const missing = 8 - groups(left).length - groups(right).length;
  return [...groups(left), ...Array<string>(missing).fill('0'), ...groups(right)].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

function hostText(type: number, bytes: Buffer): string {
  if (type === addressTypes.four) return bytes.join('.');
  // Bytes beyond ASCII make no name.
  if (type === addressTypes.name) return bytes.toString('latin1');
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16)).join(':');
}
