import { expect, it } from 'vitest';
import { discard } from '../src/download/discard.js';
import { testWorld } from './support/world.js';

it('a failed removal of an incomplete output is a warning, and hides no other error', async () => {
  const world = await testWorld([]);
  await discard({ discard: () => Promise.reject(new Error('EACCES: permission denied')) }, world);
  expect(world.err()).toBe('warning: an incomplete output stays (EACCES: permission denied)\n');
  await discard(undefined, world);
});
