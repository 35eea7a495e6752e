import { expect, it } from 'vitest';
import { networkOf } from '../../src/values/client_network.js';

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2ff:3:4:5:6', '2001:db8:1:200::/56'],
  ['2001:db8:1:200::1', '2001:db8:1:200::/56'],
  ['2001:db8:1:300::1', '2001:db8:1:300::/56'],
  ['2001:db8::1', '2001:db8:0:0::/56'],
  ['::1', '0:0:0:0::/56'],
  ['fe80::1%eth0', 'fe80:0:0:0::/56'],
  ['', ''],
])('%s counts to %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
