// What clients see of backends that send from the gateway's address while everything breaks in turn: a gateway and three
// backends, each a process of its own. The client updates its keys all the time.
import { expect } from 'vitest';
import { faults, suffer } from './support/direct_return_faults.js';
import { describeFaults } from './support/faults.js';
import { MultiEndSite } from './support/multi_end_site.js';

describeFaults({
  title: 'backends that send from the address of the gateway fail no request and send no wrong byte',
  faults,
  start: async () => {
    const site = await MultiEndSite.start(['site', 'backend1', 'backend2', 'backend3'], 'return');
    await site.returning(3);
    return site;
  },
  suffer,
  judge: ({ returned, fallbacks }, { fallback }) =>
    expect(fallback === undefined ? returned : fallbacks[fallback]).toBeGreaterThan(0),
});
