import { EventEmitter } from 'node:events';
import type { Http3Client } from '@sheaf/native';
import { expect, it } from 'vitest';
import { OpenEnds } from '../../src/end_client/open_ends.js';

it('answers of an end that end after it was offered again do not make it cheaper than others', () => {
  const client = Object.assign(new EventEmitter(), { openEnd: () => Promise.resolve(1), status: () => ({ ends: [{ end: 0, smoothedRttMs: 20 }, { end: 1, smoothedRttMs: 10 }] }) });
  const ends = new OpenEnds(client as unknown as Http3Client);
  const open = (end: number): void => {
    client.emit('endOffered', { end });
    client.emit('endPathOpen', { end });
  };
  open(0);
  open(1);
  for (let each = 0; each < 2; each++) ends.started(0);
  client.emit('endLost', { end: 0 });
  open(0);
  for (let each = 0; each < 2; each++) ends.ended(0);
  expect(ends.choose([0, 1], new Set())).toBe(1);
  // Offered again without a loss: what is under way there still counts.
  for (let each = 0; each < 2; each++) ends.started(1);
  open(1);
  expect(ends.choose([0, 1], new Set())).toBe(0);
});
