import { describe, expect, it } from 'vitest';
import { decodeProxyHeader } from '../../src/listeners/proxy_header.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
const signature = '0d0a0d0a000d0a515549540a';

/** Version 2, command PROXY, TCP over IPv4, 192.0.2.7:56324 to 198.51.100.1:443. */
const four = hex(`${signature} 21 11 000c c0000207 c6336401 dc04 01bb`);
/** TCP over IPv6, 2001:db8::7:56324 to ::1:443, and a TLV (PP2_TYPE_NOOP) of two bytes. */
const six = hex(
  `${signature} 21 21 0029 20010db8000000000000000000000007 00000000000000000000000000000001 dc04 01bb 04 0002 0000`,
);

const golden: [string, Buffer, string | undefined][] = [
  ['version 1, IPv4', Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n'), '192.0.2.7'],
  ['version 1, IPv6', Buffer.from('PROXY TCP6 2001:db8::7 ::1 56324 443\r\n'), '2001:db8::7'],
  ['version 1, unknown', Buffer.from('PROXY UNKNOWN\r\n'), undefined],
  ['version 1, unknown with addresses', Buffer.from('PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n'), undefined],
  ['version 1, the longest', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(91)}\r\n`), undefined],
  ['version 2, IPv4', four, '192.0.2.7'],
  ['version 2, IPv6 with a TLV', six, '2001:db8::7'],
  ['version 2, LOCAL', hex(`${signature} 20 00 0000`), undefined],
  ['version 2, LOCAL with addresses to ignore', hex(`${signature} 20 11 000c c0000207 c6336401 dc04 01bb`), undefined],
  ['version 2, unspecified', hex(`${signature} 21 00 0003 010203`), undefined],
  ['version 2, UNIX', Buffer.concat([hex(`${signature} 21 31 00d8`), Buffer.alloc(216, 'u')]), undefined],
];

describe('a header of the PROXY protocol', () => {
  it.each(golden)('is read: %s', (_name, bytes, source) => {
    const header = { length: bytes.length, ...(source === undefined ? {} : { source }) };
    expect(decodeProxyHeader(bytes)).toEqual(header);
    expect(decodeProxyHeader(Buffer.concat([bytes, bytes]))).toEqual(header);
  });

  it.each(golden)('waits for the rest, wherever it is cut: %s', (_name, bytes) => {
    for (let length = 0; length < bytes.length; length += 1)
      expect([length, decodeProxyHeader(bytes.subarray(0, length))]).toEqual([length, undefined]);
  });

  it.each([
    'GET / HTTP/1.1\r\n',
    '\x16\x03\x01',
    'PROXY\r\n',
    'PROXY TCP4\r\n',
    'PROXY TCP5 192.0.2.7 198.51.100.1 1 2\r\n',
    'PROXY TCP4 2001:db8::7 ::1 1 2\r\n',
    'PROXY TCP6 192.0.2.7 198.51.100.1 1 2\r\n',
    'PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n',
    'PROXY TCP4 192.0.2.07 198.51.100.1 1 2\r\n',
    'PROXY TCP4 192.0.2.7 198.51.100.1 65536 2\r\n',
    'PROXY TCP4 192.0.2.7 198.51.100.1 01 2\r\n',
    'PROXY TCP4 192.0.2.7 198.51.100.1 -1 2\r\n',
    'PROXY TCP4  192.0.2.7 198.51.100.1 1 2\r\n',
    'PROXY TCP4 192.0.2.7 198.51.100.1 1 2 \r\n',
    'PROXY TCP4 192.0.2.7 198.51.100.1 1 2\n\r\n',
    'PROXY UNKNOWNER\r\n',
    'proxy TCP4 192.0.2.7 198.51.100.1 1 2\r\n',
    `PROXY UNKNOWN ${'x'.repeat(92)}\r\n`,
    `PROXY TCP4 ${'1'.repeat(107)}`,
  ])('is refused: %j', (text) => {
    expect(decodeProxyHeader(Buffer.from(text, 'latin1'))).toBe('invalid');
  });

  it.each([
    ['version 1 in the form of version 2', '11 11 000c'],
    ['version 3', '31 11 000c'],
    ['an unknown command', '22 11 000c'],
    ['an unknown family', '21 41 000c'],
    ['an unknown transport', '21 13 000c'],
    ['too short for its addresses', '21 11 000b'],
    ['too short for its IPv6 addresses', '21 21 0023'],
    ['longer than anybody needs', '21 11 1000'],
  ])('is refused before it is whole: %s', (_name, fixed) => {
    expect(decodeProxyHeader(hex(`${signature} ${fixed}`))).toBe('invalid');
  });

  it('decides about any bytes, and never needs more than 4 KiB', () => {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) % below;
    for (let round = 0; round < 20_000; round += 1) {
      const base = golden[random(golden.length)]![1];
      const bytes = Buffer.concat([base, Buffer.alloc(random(3) * 60, round)]);
      for (let change = random(4); change > 0; change -= 1) bytes[random(bytes.length)] = random(256);
      const cut = bytes.subarray(0, random(bytes.length + 1));
      const header = decodeProxyHeader(cut);
      if (header === undefined || header === 'invalid') continue;
      expect(header.length).toBeLessThanOrEqual(cut.length);
      // What it decided does not change with what follows.
      expect(decodeProxyHeader(Buffer.concat([cut.subarray(0, header.length), Buffer.from('more')]))).toEqual(header);
    }
    expect(decodeProxyHeader(Buffer.concat([hex(`${signature} 21 11 0ff0`), Buffer.alloc(4_079)]))).toBeUndefined();
    expect(decodeProxyHeader(Buffer.concat([hex(`${signature} 21 11 0ff0`), Buffer.alloc(4_080)]))).toMatchObject({
      length: 4_096,
    });
  });
});
