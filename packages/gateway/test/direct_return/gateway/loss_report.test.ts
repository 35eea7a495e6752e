import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LossReport } from '../../../src/direct_return/gateway/loss_report.js';

let lines: Record<string, unknown>[];
let report: LossReport;
const loss = { path: '/a', reason: 'silent', received: 1, length: 2 } as const;

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  report = new LossReport(pino({ level: 'warn' }, { write }));
});
afterEach(() => void vi.useRealTimers());

it('tells the first loss of a backend at once, and how many follow within a second', () => {
  for (let index = 0; index < 1_000; index += 1) report.add('backend1', loss);
  report.add('backend2', loss);
  expect(lines).toMatchObject([
    { backend: 'backend1', ...loss, hint: expect.stringContaining('load') as string },
    { backend: 'backend2', ...loss },
  ]);
  vi.advanceTimersByTime(1_000);
  expect(lines.slice(2)).toMatchObject([{ backend: 'backend1', further: 999 }]);
  report.add('backend1', loss);
  vi.advanceTimersByTime(1_000);
  expect(lines.slice(3)).toMatchObject([{ backend: 'backend1', ...loss }]);
});
