// What clients see of backends that send from the gateway's address while everything breaks in turn: a gateway and three
// backends, each a process of its own. The client updates its keys all the time.
import { afterAll, describe, expect, it } from 'vitest';
import { faults, suffer } from './support/direct_return_faults.js';
import { MultiEndSite } from './support/multi_end_site.js';

describe('backends that send from the address of the gateway fail no request and send no wrong byte', () => {
  let site: MultiEndSite | undefined;
  let sound = false;
  afterAll(() => site?.stop());

  it.each(faults)('$name', { timeout: 300_000 }, async (fault) => {
    // What a fault left broken shall not be taken for a consequence of the next one.
    if (!sound) await site?.stop();
    if (!site || !sound) {
      site = await MultiEndSite.start(['site', 'backend1', 'backend2', 'backend3'], 'return');
      await site.returning(3);
    }
    sound = false;
    const row = await suffer(site, fault);
    sound = row.interrupted === undefined;
    process.stdout.write(`${JSON.stringify(row)}\n`);
    const { failures, bytesLost, interrupted } = row;
    expect({ failures, bytesLost, interrupted }).toEqual({ failures: [], bytesLost: 0, interrupted: undefined });
    expect(row.returned).toBeGreaterThan(0);
    // Keys were updated while something was broken, not only where nothing was.
    expect(row.keyUpdates).toBeGreaterThan(0);
  });
});
