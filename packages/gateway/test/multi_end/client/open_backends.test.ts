import { EventEmitter } from 'node:events';
import type { Http3Client } from '@sheaf/native';
import { expect, it } from 'vitest';
import { OpenBackends } from '../../../src/multi_end/client/open_backends.js';

it('responses of a backend that end after it was offered again do not make it cheaper than others', () => {
  const client = Object.assign(new EventEmitter(), {
    openBackend: () => Promise.resolve(1),
    status: () => ({
      backends: [
        { backend: 0, smoothedRttMs: 20 },
        { backend: 1, smoothedRttMs: 10 },
      ],
    }),
  });
  const backends = new OpenBackends(client as unknown as Http3Client);
  const open = (backend: number): void => {
    client.emit('backendOffered', { backend });
    client.emit('backendPathOpen', { backend });
  };
  open(0);
  open(1);
  for (let each = 0; each < 2; each++) backends.started(0);
  client.emit('backendLost', { backend: 0 });
  open(0);
  for (let each = 0; each < 2; each++) backends.ended(0);
  expect(backends.choose([0, 1], new Set())).toBe(1);
  // Offered again without a loss: what is in flight there still counts.
  for (let each = 0; each < 2; each++) backends.started(1);
  open(1);
  expect(backends.choose([0, 1], new Set())).toBe(0);
});
