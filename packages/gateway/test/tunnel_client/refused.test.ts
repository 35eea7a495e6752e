import { expect, it } from 'vitest';
import { refusalOf } from '../../src/tunnel_client/refused.js';

it.each([
  [502, 'sheaf; error=dns_error; rcode="NXDOMAIN"', 502, 'name'],
  [504, 'sheaf; error=dns_timeout', 504, 'name'],
  [504, 'sheaf; error=connection_timeout', 504, 'unreachable'],
  [502, 'sheaf; error=destination_ip_unroutable', 502, 'unreachable'],
  [503, 'sheaf; error=proxy_internal_response; details="draining"', 503, 'draining'],
  [503, 'other; error=proxy_internal_response', 503, 'busy'],
  [403, undefined, 403, 'forbidden'],
  [429, undefined, 429, 'busy'],
  // A program would ask its user for the credentials of the node.
  [407, undefined, 502, 'credentials'],
  [101, undefined, 502, 'other'],
])('status %s of a gateway with %s becomes %s', (status, proxyStatus, shown, why) => {
  expect(refusalOf(status, proxyStatus)).toMatchObject({ status: shown, why });
});
