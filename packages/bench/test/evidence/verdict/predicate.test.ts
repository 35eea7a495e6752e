import { expect, test } from 'vitest';
import type { Predicate } from '../../../src/evidence/artefact/artefact.js';
import { evaluate } from '../../../src/evidence/verdict/predicate.js';
import { someArtefact, times } from '../some_artefact.js';

const { quantities, claims } = someArtefact();
const predicate = claims[0]!.predicates[0]!;
const truthOf = (cells: ReturnType<typeof times>, change: Partial<Predicate> = {}) =>
  evaluate({ ...predicate, ...change }, quantities, cells).truth;

const slow = [100, 102, 98, 101, 99, 100];
const scaled = (factor: number): number[] => slow.map((value) => value * factor);

test('an interval within the bounds holds, one beyond bound and margin fails', () => {
  expect(truthOf(times(slow, scaled(0.4)))).toBe('holds');
  expect(truthOf(times(slow, scaled(0.6)))).toBe('fails');
});

test('an interval that lies within the margin around a bound is a tie', () => {
  expect(truthOf(times(slow, scaled(0.51)))).toBe('tie');
});

test('an interval on both sides of a bound is unknown', () => {
  expect(truthOf(times(slow, [30, 90, 20, 80, 50, 60]))).toBe('unknown');
});

test('two figures that are both 0 are equal, which is no less than and no more than', () => {
  const nothing = slow.map(() => 0);
  const both = times(nothing, nothing);
  expect(truthOf(both, { at_most: 1, at_least: 1 })).toBe('holds');
  expect(truthOf(both, { at_most: 0.98, margin: 0 })).toBe('fails');
  expect(truthOf(both, { at_most: 0.98, margin: 0.02 })).toBe('tie');
  expect(truthOf(times(slow, nothing), { at_most: 0.98 })).toBe('holds');
  expect(truthOf(times(nothing, slow), { at_most: 0.98 })).toBe('fails');
});

test('one run says nothing about chance', () => {
  expect(truthOf(times([100], [10]))).toBe('unknown');
});

test('what was not measured is unknown', () => {
  expect(truthOf([])).toBe('unknown');
  expect(truthOf(times(slow, scaled(0.4)), { where: { page: 'shop' } })).toBe('unknown');
});

test('a place that was measured with one arm alone is unknown', () => {
  const [, alone] = times(slow, scaled(0.4), 'shop');
  expect(truthOf([...times(slow, scaled(0.4)), alone!])).toBe('unknown');
});

test('arms that were not measured are named', () => {
  const [slowAlone] = times(slow, slow);
  expect(evaluate(predicate, quantities, [slowAlone!])).toEqual({ truth: 'unknown', measured: [], missing: ['fast'] });
  expect(evaluate(predicate, quantities, times(slow, scaled(0.4))).missing).toEqual([]);
});

test('the maximum decides by itself, if there are several runs', () => {
  const largest = structuredClone(quantities);
  largest['time_ms']!.statistic = 'maximum';
  const bound = { ...predicate, of: 'slow', to: undefined, at_most: 102 };
  const evaluated = (values: number[], at_most = 102) =>
    evaluate({ ...bound, at_most }, largest, times(values, values));
  expect(evaluated(slow)).toMatchObject({ truth: 'holds', measured: [{ text: 'slow, news: 102 (of 6 runs)' }] });
  expect(evaluated(slow, 101.9)).toMatchObject({ truth: 'fails' });
  expect(evaluated([100])).toMatchObject({ truth: 'unknown', measured: [{ text: 'slow, news: 100 (1 run)' }] });
});

test('every cell has to hold, or the geometric mean of all', () => {
  const both = [...times(slow, scaled(0.2), 'news'), ...times(slow, scaled(0.8), 'shop')];
  expect(truthOf(both)).toBe('fails');
  expect(truthOf(both, { over: 'mean' })).toBe('holds');
  expect(truthOf(both, { where: { page: ['news'] } })).toBe('holds');
});

test('a figure of one arm is compared with bounds of its own', () => {
  expect(truthOf(times(slow, slow), { of: 'slow', to: undefined, at_least: 90, at_most: 110 })).toBe('holds');
});

test('an arm is compared with itself at another place', () => {
  const cells = [...times(slow, slow, 'news'), ...times(scaled(2), slow, 'shop')];
  const between = { of: 'slow', to: undefined, against: { page: 'news' }, where: { page: 'shop' }, at_most: undefined };
  expect(truthOf(cells, { ...between, at_least: 1.9 })).toBe('holds');
  expect(truthOf(cells, { ...between, at_least: 2.1 })).toBe('fails');
  expect(truthOf(cells, { ...between, against: { page: 'games' }, at_least: 1.9 })).toBe('unknown');
});

test('each of several arms has to hold', () => {
  const cells = times(slow, scaled(0.4));
  expect(truthOf(cells, { of: ['fast'], to: undefined, at_most: 45 })).toBe('holds');
  expect(truthOf(cells, { of: ['fast', 'slow'], to: undefined, at_most: 45 })).toBe('fails');
});
