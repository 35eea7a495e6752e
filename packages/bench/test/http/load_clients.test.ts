import { expect, test } from 'vitest';
import { checkCipher, parseH2load } from '../../src/http/load_clients.js';

/** What h2load 1.52 prints at the end, here of one download of 10 MB */
const summary = `finished in 35.62ms, 28.07 req/s, 267.79MB/s
requests: 1 total, 1 started, 1 done, 1 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 1 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 9.54MB (10002231) total, 110B (110) headers (space savings 35.29%), 9.54MB (10000000) data
`;

test('the summary of h2load has requests, failures, bytes and the duration in seconds', () => {
  expect(parseH2load(summary)).toEqual({ requests: 1, failed: 0, dataBytes: 10_000_000, seconds: 0.03562 });
  expect(parseH2load(summary.replace('35.62ms', '4.00s').replace('0 failed', '3 failed'))).toMatchObject({
    failed: 3,
    seconds: 4,
  });
});

test('an output without a summary is refused with its last line', () => {
  expect(() => parseH2load('starting benchmark...\nCould not connect to host\n')).toThrow('h2load printed no summary');
});

test('a gateway that chose another cipher suite is refused', () => {
  const output = (suite: string): string => `TLS Protocol: TLSv1.3\nCipher: ${suite}\n`;
  expect(() => checkCipher(output('TLS_AES_128_GCM_SHA256'))).not.toThrow();
  expect(() => checkCipher(output('TLS_AES_256_GCM_SHA384'))).toThrow('TLS_AES_256_GCM_SHA384 instead of');
  expect(() => checkCipher('')).toThrow('the cipher suite is none');
});
