import { expect, test } from 'vitest';
import { watchOthers } from '../../src/measure/other_programs.js';

const zero = '0 0 0 0 0 0 0 0 0';

/** Ticks as Linux prints them: all processors (user, nice, system, idle, waiting, interrupts, ..., stolen), and own ones */
const files = (machine: string, own: string) => (file: string) =>
  file === '/proc/stat'
    ? `cpu  ${machine} 0 0\ncpu0 ${machine} 0 0\n`
    : `7 (a (strange) name) S 1 ${zero} ${own} 20 0\n`;

const measured = (before: [string, string], after: [string, string], seconds: number): number | undefined => {
  let [read, now] = [files(...before), 0];
  const ask = watchOthers(
    (file) => read(file),
    () => now,
  );
  [read, now] = [files(...after), seconds * 1000];
  return ask();
};

test('what other programs used is what the machine used without this program and those that it started', () => {
  // 10 s with 300 ticks of user, 100 of system, 5,000 idle and 40 stolen; 250 are those of this process and of its children.
  const before: [string, string] = ['1000 0 500 9000 10 0 0 7', '100 50 30 20'];
  expect(measured(before, ['1300 0 600 14000 20 0 0 47', '200 100 80 70'], 10)).toBe(0.19);
});

test('nothing else ran, and a clock that counts coarsely gives no negative number', () => {
  const before: [string, string] = ['0 0 0 0 0 0 0 0', '0 0 0 0'];
  expect(measured(before, ['99 0 0 0 0 0 0 0', '100 0 0 0'], 1)).toBe(0);
});

test('a machine that does not tell gives nothing', () => {
  const ask = watchOthers(() => {
    throw new Error('no such file');
  });
  expect(ask()).toBeUndefined();
});
