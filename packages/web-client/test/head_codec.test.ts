import { describe, expect, test } from 'vitest';
import {
  DEFAULT_PRIORITY,
  LIMITS,
  ProtocolError,
  decodeRequestHead,
  decodeResponseHead,
  encodeRequestHead,
  encodeResponseHead,
  findHead,
  type RequestHead,
} from '../src/protocol/index.js';

const request: RequestHead = {
  method: 'GET',
  url: 'https://a.test/x?y',
  destination: 'style',
  priority: { urgency: 0, incremental: false },
  credentials: 'omitted',
  headers: [['accept', 'text/css']],
};

// Written by hand from docs/reference/wire.md.
const requestBytes = hex(
  '01 34', // version 1, 52 bytes
  '01 03 474554', // method
  '02 12 68747470733a2f2f612e746573742f783f79', // URL
  '03 05 7374796c65', // destination
  '04 01 00', // priority
  '05 0f 06 616363657074 746578742f637373', // header: name length, name, value
);

const responseBytes = hex('01 13', '06 02 40c8', '05 0d 04 65746167 2261626364656622');

function hex(...parts: string[]): Uint8Array {
  return Uint8Array.from(Buffer.from(parts.join('').replaceAll(' ', ''), 'hex'));
}

function head(bytes: Uint8Array): Uint8Array {
  const frame = findHead(bytes);
  if (frame === undefined || frame.end > bytes.length) throw new Error('incomplete');
  return bytes.subarray(frame.start, frame.end);
}

/** A head of these fields, with version and length. */
function framed(...fields: string[]): Uint8Array {
  const body = hex(...fields);
  const length = body.length < 64 ? [body.length] : [0x40 | (body.length >> 8), body.length & 0xff];
  return Uint8Array.from([1, ...length, ...body]);
}

function errorOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ProtocolError) return error.error;
    throw error;
  }
  return 'none';
}

describe('golden bytes', () => {
  test('a request head', () => {
    expect(encodeRequestHead(request)).toEqual(requestBytes);
    expect(decodeRequestHead(head(requestBytes))).toEqual(request);
  });

  test('a response head', () => {
    const response = { status: 200, headers: [['etag', '"abcdef"']] as const };
    expect(encodeResponseHead(response)).toEqual(responseBytes);
    expect(decodeResponseHead(head(responseBytes))).toEqual(response);
  });

  test('empty destination and priority take no bytes', () => {
    const encoded = encodeRequestHead({ ...request, destination: '', priority: DEFAULT_PRIORITY, headers: [] });
    expect(encoded).toEqual(hex('01 19 01 03 474554 02 12 68747470733a2f2f612e746573742f783f79'));
    expect(decodeRequestHead(head(encoded))).toMatchObject({ destination: '', priority: DEFAULT_PRIORITY });
  });
});

describe('truncation at every length', () => {
  test.each([
    ['request', requestBytes, decodeRequestHead],
    ['response', responseBytes, decodeResponseHead],
  ] as const)('%s', (_name, bytes, decode) => {
    for (let length = 0; length < bytes.length; length += 1) {
      const frame = findHead(bytes.subarray(0, length));
      expect(frame === undefined || frame.end > length, `${length} bytes look whole`).toBe(true);
    }
    const whole = head(bytes);
    for (let length = 0; length < whole.length; length += 1) {
      try {
        // Cut between two fields, what is left may be a smaller head, never a wrong one.
        const shorter = decode(whole.subarray(0, length));
        expect(shorter.headers).toEqual([]);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolError);
      }
    }
  });
});

describe('a receiver refuses', () => {
  const method = '01 03 474554';
  const url = '02 0f 68747470733a2f2f612e746573742f';
  test.each([
    ['another version', () => findHead(hex('02 00')), 'unsupported_version'],
    ['a head above the limit', () => findHead(hex('01 80010001')), 'too_large'],
    ['an integer above 2^53', () => findHead(hex('01 ffffffffffffffff')), 'malformed'],
    ['no method', () => decodeRequestHead(head(framed(url))), 'malformed'],
    ['no URL', () => decodeRequestHead(head(framed(method))), 'malformed'],
    ['two methods', () => decodeRequestHead(head(framed(method, method, url))), 'malformed'],
    ['an empty method', () => decodeRequestHead(head(framed('01 00', url))), 'malformed'],
    ['CONNECT', () => decodeRequestHead(head(framed('01 07 434f4e4e454354', url))), 'malformed'],
    ['a relative URL', () => decodeRequestHead(head(framed(method, '02 01 2f'))), 'malformed'],
    ['a field longer than the head', () => decodeRequestHead(head(framed('01 10 47'))), 'malformed'],
    ['an upper-case header', () => decodeRequestHead(head(framed(method, url, '05 03 01 41 62'))), 'malformed'],
    ['a line feed in a value', () => decodeRequestHead(head(framed(method, url, '05 03 01 61 0a'))), 'malformed'],
    ['a header name that is cut off', () => decodeRequestHead(head(framed(method, url, '05 02 05 61'))), 'malformed'],
    [
      'transfer-encoding',
      () => encodeRequestHead({ ...request, headers: [['transfer-encoding', 'chunked']] }),
      'malformed',
    ],
    ['a pseudo-header', () => encodeRequestHead({ ...request, headers: [[':path', '/']] }), 'malformed'],
    ['a character above U+00FF', () => encodeRequestHead({ ...request, headers: [['a', 'ő']] }), 'malformed'],
    ['credentials in the URL', () => encodeRequestHead({ ...request, url: 'https://u:p@a.test/' }), 'malformed'],
    ['a fragment', () => encodeRequestHead({ ...request, url: 'https://a.test/#f' }), 'malformed'],
    ['a file URL', () => encodeRequestHead({ ...request, url: 'file:///etc/passwd' }), 'malformed'],
    ['an interim status', () => encodeResponseHead({ status: 103, headers: [] }), 'malformed'],
    ['a status of two integers', () => decodeResponseHead(head(framed('06 03 40c8 00'))), 'malformed'],
    ['two statuses', () => decodeResponseHead(head(framed('06 02 40c8 06 02 40c8'))), 'malformed'],
    ['no status', () => decodeResponseHead(new Uint8Array(0)), 'malformed'],
  ] as const)('%s', (_name, action, error) => {
    expect(errorOf(action)).toBe(error);
  });

  test.each([
    ['URL', { url: `https://a.test/${'x'.repeat(LIMITS.url)}` }],
    ['method', { method: 'M'.repeat(LIMITS.method + 1) }],
    ['header value', { headers: [['a', 'b'.repeat(LIMITS.headerValue + 1)]] as const }],
    ['header count', { headers: Array.from({ length: LIMITS.headerCount + 1 }, () => ['a', 'b'] as const) }],
    ['head', { headers: Array.from({ length: 3 }, () => ['a', 'b'.repeat(30_000)] as const) }],
  ] as const)('a %s above its limit', (_name, change) => {
    expect(errorOf(() => encodeRequestHead({ ...request, ...change }))).toBe('too_large');
  });
});

test('fields of later versions are skipped', () => {
  const bytes = framed('40ff 03 010203', '01 03 474554', '02 0f 68747470733a2f2f612e746573742f', '3f 00');
  expect(decodeRequestHead(head(bytes))).toMatchObject({ method: 'GET', url: 'https://a.test/' });
});

test.each([
  ['none', '07 01 01'],
  ['withheld', '07 01 02'],
] as const)('credentials that are %s', (credentials, bytes) => {
  const said = { ...request, credentials };
  expect(decodeRequestHead(head(encodeRequestHead(said)))).toEqual(said);
  expect(
    decodeRequestHead(head(framed('01 03 474554', '02 12 68747470733a2f2f612e746573742f783f79', bytes))).credentials,
  ).toBe(credentials);
});

test.each(['07 00', '07 01 00', '07 01 03', '07 02 01 01', '07 01 01 07 01 01'])(
  'credentials %s are malformed',
  (bytes) => {
    expect(
      errorOf(() =>
        decodeRequestHead(head(framed('01 03 474554', '02 12 68747470733a2f2f612e746573742f783f79', bytes))),
      ),
    ).toBe('malformed');
  },
);
