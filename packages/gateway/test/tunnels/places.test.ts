import { openSharedCounts } from '@sheaf/native';
import { expect, it } from 'vitest';
import { Places, type NoPlace } from '../../src/tunnels/places.js';
import { OwnCounts, type Counts } from '../../src/values/counts.js';

const limits = { tunnels: 4, tunnels_per_user: 2, tunnels_per_address: 3 };
const giveBack = (place: (() => void) | NoPlace): void => {
  if (typeof place === 'number') throw new Error(`there was no place: ${place}`);
  place();
};

it.each<[string, () => Counts]>([
  ['of one thread', () => new OwnCounts()],
  ['of several threads', () => openSharedCounts(`places.test ${Math.random()}`)],
])('places %s are bounded for each user, for each address and for all', (_name, open) => {
  const places = new Places(limits, open());
  const first = places.take('a', '192.0.2.1');
  giveBack(places.take('a', '192.0.2.1'));
  expect(places.take('a', '192.0.2.2')).toBeTypeOf('function');
  expect(places.take('a', '192.0.2.3')).toBe(429);
  for (const user of [undefined, 'b']) expect(places.take(user, '192.0.2.1')).toBeTypeOf('function');
  expect(places.take('c', '192.0.2.1')).toBe(503);
  giveBack(first);
  // A place is given back once.
  giveBack(first);
  expect(places.take('a', '192.0.2.3')).toBeTypeOf('function');
  expect(places.take('c', '192.0.2.3')).toBe(503);
});

it('two with the counts of one name share them', () => {
  const name = `places.test ${Math.random()}`;
  const [first, second] = [name, name].map((each) => new Places(limits, openSharedCounts(each))) as [Places, Places];
  const place = first.take('a', '192.0.2.1');
  expect(first.take('a', '192.0.2.1')).toBeTypeOf('function');
  expect(second.take('a', '192.0.2.1')).toBe(429);
  giveBack(place);
  expect(second.take('a', '192.0.2.1')).toBeTypeOf('function');
  expect(new Places(limits, openSharedCounts(`${name} 2`)).take('a', '192.0.2.1')).toBeTypeOf('function');
});
