import { expect, it } from 'vitest';
import { grantRecovery, grantSource } from '../../../src/direct_return/protocol/grant_source.js';

function grant(ip: string, port: number): Buffer {
  const bytes = Buffer.alloc(208);
  Buffer.from(ip, 'hex').copy(bytes, 112);
  bytes.writeUInt16BE(port, 128);
  return bytes;
}

it('reads who numbers the packets', () => {
  const bytes = grant('00000000000000000000ffffcb007107', 443);
  bytes[21] = 1;
  expect(grantRecovery(bytes)).toBe('gateway');
  bytes[21] = 2;
  expect(grantRecovery(bytes)).toBe('backend');
});

it('reads the address from which a grant lets a backend send', () => {
  expect(grantSource(grant('00000000000000000000ffffcb007107', 443))).toBe('203.0.113.7:443');
  expect(grantSource(grant('20010db8000a00000000000000000007', 8_443))).toBe('[2001:db8:a::7]:8443');
  expect(grantSource(Buffer.alloc(129))).toBeUndefined();
});
