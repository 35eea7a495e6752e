import { describe, expect, it } from 'vitest';
import { closedError, closedLabel } from '../lib/connection_closed.js';

describe('the label of a closed connection', () => {
  it.each([
    [{ cause: 2, code: 0x100 }, 'H3_NO_ERROR'],
    [{ cause: 2, code: 0x107 }, 'H3_EXCESSIVE_LOAD'],
    [{ cause: 2, code: 0x2a }, 'APPLICATION_OTHER'],
    [{ cause: 3, code: 0xa }, 'PROTOCOL_VIOLATION'],
    [{ cause: 3, code: 0x128 }, 'CRYPTO_ERROR_handshake_failure'],
    [{ cause: 3, code: 0x1ff }, 'CRYPTO_ERROR_other'],
    [{ cause: 3, code: 2 ** 62 - 1 }, 'OTHER'],
    [{ cause: 4, code: 0 }, 'IDLE_TIMEOUT'],
    [{ cause: 5, code: 7 }, 'STATELESS_RESET'],
  ])('%j is %s', (closed, label) => {
    expect(closedLabel({ ...closed, reason: '' })).toBe(label);
  });

  it('is one of a few, whatever the peer chooses', () => {
    const labels = new Set<string>();
    for (let cause = 0; cause < 7; cause += 1) {
      for (let code = 0; code < 70_000; code += 1) labels.add(closedLabel({ cause, code, reason: `reason ${code}` }));
    }
    expect(labels.size).toBeLessThan(80);
  });
});

it('the error keeps the code that has no name', () => {
  expect(closedError({ cause: 2, code: 0x2a, reason: 'why' })?.message).toBe(
    'closed by the peer (APPLICATION_OTHER 0x2a): why',
  );
});
