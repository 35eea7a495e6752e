import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  acceptedHeader,
  declinedHeader,
  declineReasons,
  decodeAcceptedHeader,
  decodeDeclinedHeader,
  decodeGrantHeader,
  encodeAcceptedHeader,
  encodeGrantHeader,
  grantHeader,
  isHead,
  maxHead,
  type Accepted,
} from '../../../src/direct_return/protocol/return_headers.js';
import { withoutHopByHop } from '../../../src/http/forwarded_headers.js';
import { maxSealedGrant } from '../../../src/direct_return/protocol/sealed_grant.js';

describe('sheaf-grant', () => {
  it('arrives as it was, at every length', () => {
    for (let length = 1; length <= maxSealedGrant; length++) {
      const sealed = randomBytes(length);
      expect(decodeGrantHeader(encodeGrantHeader(sealed))).toEqual(sealed);
    }
  });

  it('is written in one way alone', () => {
    const header = encodeGrantHeader(Buffer.from([0xfb, 0xff, 0xfe, 0x01]));
    expect(header).toBe('-__-AQ');
    for (const other of [
      '',
      '+//+AQ',
      '-__-AQ==',
      '-__-AR',
      '-__-A',
      ' -__-AQ',
      '-__-AQ ',
      '-__-\nAQ',
      '-__-AQ,-__-AQ',
    ])
      expect(decodeGrantHeader(other), other).toBeUndefined();
  });

  it('is bounded', () => {
    expect(decodeGrantHeader(encodeGrantHeader(Buffer.alloc(maxSealedGrant + 1)))).toBeUndefined();
  });
});

describe('sheaf-accepted', () => {
  const responses: [Accepted, string][] = [
    [{ status: 200, length: 50_000_000, first: 0, tag: '"a-1"' }, 'status=200; length=50000000; first=0; tag="a-1"'],
    [{ status: 206, length: 20, first: 1_000, tag: '"a"' }, 'status=206; length=20; first=1000; tag="a"'],
    [{ status: 206, length: 0, first: undefined, tag: undefined }, 'status=206; length=0'],
    [{ status: 404, length: undefined, first: undefined, tag: undefined }, 'status=404'],
    [{ status: 200, length: undefined, first: undefined, tag: '""' }, 'status=200; tag=""'],
    [
      { status: 200, length: Number.MAX_SAFE_INTEGER, first: undefined, tag: '";tag=~"' },
      'status=200; length=9007199254740991; tag=";tag=~"',
    ],
  ];

  it.each(responses)('describes %j', (response, header) => {
    expect(encodeAcceptedHeader(response)).toBe(header);
    expect(decodeAcceptedHeader(header)).toEqual(response);
  });

  it('refuses everything else', () => {
    const wrong = [
      '',
      'status=100',
      'status=600',
      'status=20',
      'status=2000',
      'status=200;length=1',
      'status=200; length=',
      'status=200; length=01',
      'status=200; length=-1',
      'status=200; length=1e3',
      'status=200; length=9007199254740992',
      'status=200; length=99999999999999999',
      'length=1; status=200',
      'status=200; first=',
      'status=200; first=01',
      'status=200; first=-1',
      'status=200; first=1; length=1',
      'status=200; length=9007199254740991; first=1',
      'status=200; tag=W/"weak"',
      'status=200; tag=bare',
      'status=200; tag="a b"',
      'status=200; tag="\xe9"',
      'status=200; tag="a"b"',
      'status=200; tag="a"; length=1',
      'status=200; length=1; length=1',
      'status=200, status=200',
      ' status=200',
      'status=200 ',
      'STATUS=200',
      `status=200; tag="${'x'.repeat(1_023)}"`,
    ];
    for (const header of wrong) expect(decodeAcceptedHeader(header), header).toBeUndefined();
  });

  it('is not written for what cannot be read', () => {
    for (const response of [
      { status: 103, length: undefined, first: undefined, tag: undefined },
      { status: 200, length: 0.5, first: undefined, tag: undefined },
      { status: 200, length: -1, first: undefined, tag: undefined },
      { status: 200, length: 2 ** 53, first: undefined, tag: undefined },
      { status: 200, length: 1, first: 0.5, tag: undefined },
      { status: 200, length: 1, first: 0, tag: 'W/"weak"' },
    ])
      expect(() => encodeAcceptedHeader(response)).toThrow(RangeError);
  });
});

it('a backend declines for reasons that the gateway knows', () => {
  for (const reason of declineReasons) expect(decodeDeclinedHeader(reason)).toBe(reason);
  for (const other of ['', 'Small', 'small ', 'small, busy', 'constructor'])
    expect(decodeDeclinedHeader(other), other).toBeUndefined();
});

it('forwards none of its headers', () => {
  const headers = { 'x-kept': '1', [grantHeader]: 'a', [acceptedHeader]: 'b', [declinedHeader]: 'c' };
  expect(withoutHopByHop(headers)).toEqual({ 'x-kept': '1' });
});

it('a head refers to no dynamic table, and is bounded', () => {
  const head = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes);
  expect(isHead(head(0, 0, 0xd9))).toBe(true); // :status 200 of the static table
  for (const other of [head(), head(0), head(0, 0), head(1, 0, 0xd9), head(0, 1, 0xd9), head(0, 0x80, 0xd9)])
    expect(isHead(other)).toBe(false);
  expect(isHead(new Uint8Array(maxHead))).toBe(true);
  expect(isHead(new Uint8Array(maxHead + 1))).toBe(false);
});
