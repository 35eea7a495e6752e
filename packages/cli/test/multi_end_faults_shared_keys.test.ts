// A file for each kind of keys: they wait for links most of the time, and run beside each other.
import { it } from 'vitest';
import { sufferAll } from './support/multi_end_faults.js';

it(
  'a site of several processes fails no request and loses no byte when something breaks, shared keys',
  { timeout: 900_000 },
  () => sufferAll('shared'),
);
