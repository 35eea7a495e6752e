import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SocksHandshake, socksReply, type SocksStep } from '../../src/tunnel_client/socks/handshake.js';

const greeting = [5, 1, 0];
const ofName = (name: string, port: number, command = 1): number[] => [
  ...[5, command, 0, 3, name.length],
  ...Buffer.from(name, 'latin1'),
  ...[port >> 8, port & 0xff],
];

/** Gives the pieces one after the other. Returns the steps, without those that ask for more. */
function steps(...pieces: readonly (readonly number[])[]): SocksStep[] {
  const handshake = new SocksHandshake();
  const all: SocksStep[] = [];
  for (const piece of pieces) {
    handshake.push(Uint8Array.from(piece));
    for (let step = handshake.next(); step.type !== 'more'; step = handshake.next()) {
      all.push(step);
      if (step.type !== 'answer') return all;
    }
  }
  return all;
}

const byteByByte = (bytes: readonly number[]): SocksStep[] => steps(...bytes.map((byte) => [byte]));
const accepted: SocksStep = { type: 'answer', bytes: Buffer.from([5, 0]) };
const connects = (host: string, port: number, rest = ''): SocksStep[] => [
  accepted,
  { type: 'connect', target: { host, port }, rest: Buffer.from(rest) },
];
const refused = (reply: number): SocksStep[] => [accepted, { type: 'end', bytes: socksReply(reply) }];

describe('a handshake of SOCKS5', () => {
  it.each([
    ['a name', ofName('WWW.Example.org', 443), connects('www.example.org', 443)],
    ['an IPv4 address', [5, 1, 0, 1, 192, 0, 2, 7, 0, 80], connects('192.0.2.7', 80)],
    [
      'an IPv6 address',
      [5, 1, 0, 4, 0x20, 1, 0xd, 0xb8, ...Array<number>(11).fill(0), 7, 1, 187],
      connects('2001:db8::7', 443),
    ],
    ['an address as a name', ofName('2001:db8::7', 443), connects('2001:db8::7', 443)],
  ])('leads to %s, at once and byte by byte', (_what, request, expected) => {
    expect(steps(greeting, request)).toEqual(expected);
    expect(steps([...greeting, ...request])).toEqual(expected);
    expect(byteByByte([...greeting, ...request])).toEqual(expected);
  });

  it('asks for a relay of UDP, with the port that the program will send from', () => {
    const expected: SocksStep[] = [accepted, { type: 'associate', port: 0x1234 }];
    expect(byteByByte([...greeting, 5, 3, 0, 1, 0, 0, 0, 0, 0x12, 0x34])).toEqual(expected);
    expect(byteByByte([...greeting, ...ofName('', 0x1234, 3)])).toEqual(expected);
  });

  it('is answered with the address of the relay', () => {
    expect([...socksReply(0, { address: '127.0.0.1', port: 258 })]).toEqual([5, 0, 0, 1, 127, 0, 0, 1, 1, 2]);
    const zeros = (count: number): number[] => Array<number>(count).fill(0);
    expect([...socksReply(0, { address: '::1', port: 1 })]).toEqual([5, 0, 0, 4, ...zeros(15), 1, 0, 1]);
    const six = [0x20, 1, 0xd, 0xb8, 0, 1, ...zeros(8), 0, 7];
    expect([...socksReply(0, { address: '2001:db8:1::7', port: 1 })]).toEqual([5, 0, 0, 4, ...six, 0, 1]);
  });

  it('leaves what stands behind the request to the tunnel', () => {
    expect(steps([...greeting, ...ofName('a.example', 1), ...Buffer.from('hello')])).toEqual(
      connects('a.example', 1, 'hello'),
    );
  });

  it('takes a greeting with several methods, and refuses one without that of no authentication', () => {
    expect(byteByByte([5, 3, 1, 2, 0])).toEqual([accepted]);
    const none: SocksStep[] = [{ type: 'end', bytes: Buffer.from([5, 0xff]) }];
    expect(byteByByte([5, 2, 1, 2])).toEqual(none);
    expect(byteByByte([5, 0])).toEqual(none);
  });

  it.each([
    ['BIND', ofName('a.example', 1, 2), 7],
    ['an unknown command', ofName('a.example', 1, 9), 7],
    ['an unknown type of address', [5, 1, 0, 2, 0, 0, 0, 0, 0, 0], 8],
    ['a reserved byte that is not 0', [5, 1, 1, 3], 1],
    ['port 0', ofName('a.example', 0), 4],
    ['an empty name', ofName('', 443), 4],
    ['a name with a space', ofName('a example', 443), 4],
    ['a name with a byte beyond ASCII', ofName('ä.example', 443), 4],
    ['a name with the end of a line', ofName('a.example\r\nx: y', 443), 4],
    ['a number as a name', ofName('0x7f000001', 443), 4],
  ])('refuses %s', (_what, request, reply) => {
    expect(byteByByte([...greeting, ...request])).toEqual(refused(reply));
  });

  it.each([
    ['SOCKS4', [4, 1, 0, 80, 127, 0, 0, 1, 0]],
    ['HTTP', [...Buffer.from('GET / HTTP/1.1\r\n')]],
    ['TLS', [22, 3, 1, 2, 0]],
  ])('says nothing to %s', (_what, bytes) => {
    expect(byteByByte(bytes)).toEqual([{ type: 'end', bytes: undefined }]);
    expect(steps(bytes)).toEqual([{ type: 'end', bytes: undefined }]);
  });

  it('says nothing to a request of another version', () => {
    expect(byteByByte([...greeting, 4])).toEqual([accepted, { type: 'end', bytes: undefined }]);
  });

  it('understands the same however its bytes are cut, whatever they are', () => {
    const byte = fc.nat(255);
    const likely = fc.oneof(
      fc.array(byte, { maxLength: 300 }),
      fc.array(byte, { maxLength: 300 }).map((rest) => [...greeting, 5, 1, 0, ...rest]),
    );
    const property = fc.property(likely, fc.array(fc.nat(40), { maxLength: 20 }), (bytes, sizes) => {
      const pieces: number[][] = [];
      let at = 0;
      for (const size of sizes) pieces.push(bytes.slice(at, (at += size)));
      const cut = steps(...pieces, bytes.slice(at));
      const whole = steps(bytes);
      // How much is behind the request depends on what came with it.
      const withoutRest = (each: SocksStep): unknown => (each.type === 'connect' ? { ...each, rest: undefined } : each);
      expect(cut.map(withoutRest)).toEqual(whole.map(withoutRest));
      expect(whole.length).toBeLessThanOrEqual(2);
    });
    fc.assert(property, { numRuns: 500 });
  });
});
