import { expect, it, vi } from 'vitest';
import { Dependents } from '../../../src/multi_end/primary/dependents.js';
import { fakeExchange, FakeResponse } from '../../support/fake_backend.js';

it('tells when none is left, of those too that came later', () => {
  const dependents = new Dependents();
  const none = vi.fn();
  const told = (): number => none.mock.calls.length;
  dependents.whenNone(none);
  expect(told()).toBe(1);
  const [first, second, later] = [1, 2, 3].map(() => fakeExchange(new FakeResponse()));
  dependents.add(first!);
  dependents.add(first!);
  dependents.add(second!);
  dependents.whenNone(none);
  dependents.add(later!);
  dependents.whenNone(none);
  dependents.delete(first!);
  dependents.delete(second!);
  expect(told()).toBe(1);
  dependents.delete(later!);
  dependents.delete(later!);
  expect(told()).toBe(3);
});
