import { expect, test } from 'vitest';
import { transportsTo } from '../../src/browser/transports.js';

const transports = transportsTo({
  httpsUrl: 'https://127.0.0.1:4433/',
  httpUrl: 'http://localhost:8080/',
  publicKeyHash: 'aGFzaA==',
});

test('WebTransport needs nothing that a visitor would not have', () => {
  expect(transports[0]).toEqual({
    name: 'webtransport',
    switches: [],
    url: 'http://localhost:8080/.well-known/sheaf/start?to=/',
    carriers: ['WebTransport'],
  });
});

test('HTTP/3 is forced for the gateway alone, and only its key is trusted', () => {
  expect(transports[1]).toMatchObject({
    switches: ['--ignore-certificate-errors-spki-list=aGFzaA==', '--origin-to-force-quic-on=127.0.0.1:4433'],
    url: 'https://127.0.0.1:4433/',
  });
});

test('TCP is what is left without QUIC', () => {
  expect(transports[2]?.switches).toContain('--disable-quic');
  expect(transports[2]?.carriers).not.toContain('WebTransport');
});
