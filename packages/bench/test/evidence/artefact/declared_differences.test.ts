import { expect, test } from 'vitest';
import { checkDeclaredDifferences } from '../../../src/evidence/artefact/declared_differences.js';
import { someArtefact } from '../some_artefact.js';

const check = (setup: ReturnType<typeof someArtefact>['setup']): void =>
  checkDeclaredDifferences('paper/figure-1', setup, (arm) => setup.arms[arm]?.settings ?? {});

test('arms that differ in what they declare are compared', () => {
  expect(() => check(someArtefact().setup)).not.toThrow();
});

test('a setting that differs and is not declared is named, with both values', () => {
  const { setup } = someArtefact((file) => (file['setup'].arms.fast.settings.queue = 99));
  expect(() => check(setup)).toThrow("paper/figure-1: arm 'fast' differs from 'slow' in queue (99 instead of 10)");
});

test('a setting that only one arm has is a difference', () => {
  const { setup } = someArtefact((file) => (file['setup'].arms.fast.settings.repeats = true));
  expect(() => check(setup)).toThrow('repeats (true instead of nothing)');
  const { setup: without } = someArtefact((file) => delete file['setup'].arms.fast.settings.queue);
  expect(() => check(without)).toThrow('queue (nothing instead of 10)');
});
