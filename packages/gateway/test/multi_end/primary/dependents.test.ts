import { expect, it, vi } from 'vitest';
import { Dependents } from '../../../src/multi_end/primary/dependents.js';
import { fakeExchange, FakeResponse } from '../../support/fake_backend.js';

it('tells when those are over that were present, and does not count later ones', () => {
  const dependents = new Dependents();
  const gone = vi.fn();
  dependents.whenGone(gone);
  expect(gone).toHaveBeenCalledTimes(1);
  const [first, second, later] = [1, 2, 3].map(() => fakeExchange(new FakeResponse()));
  dependents.add(first!);
  dependents.add(first!);
  dependents.add(second!);
  dependents.whenGone(gone);
  dependents.add(later!);
  const goneToo = vi.fn();
  dependents.whenGone(goneToo);
  dependents.delete(first!);
  expect(gone).toHaveBeenCalledTimes(1);
  dependents.delete(second!);
  expect([gone, goneToo].map(({ mock }) => mock.calls.length)).toEqual([2, 0]);
  dependents.delete(later!);
  dependents.delete(later!);
  expect([gone, goneToo].map(({ mock }) => mock.calls.length)).toEqual([2, 1]);
});
