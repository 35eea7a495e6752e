import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BrowserCell } from '../../../src/pages/real/browser_cell.js';
import type { BrowserRun } from '../../../src/pages/real/browser_run.js';
import { runBench } from '../../../src/run_bench.js';
import { sheaf } from '../../interop/programs.js';

interface BrowserReport {
  browser: string;
  missing: number;
  cells: BrowserCell[];
  findings: { claim: string; holds: boolean | null; measured: string[] }[];
}

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'sheaf-browser-pages-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const read = (browser: string, name: string): string => readFileSync(join(directory, browser, name), 'utf8');

async function bench(
  browser: string,
  options: readonly string[],
  onProgress: (text: string, interrupt: () => void) => void = () => undefined,
): Promise<BrowserReport> {
  const child = spawn(
    sheaf,
    [
      'bench',
      'pages',
      '--browser',
      ...(browser === 'chromium' ? [] : [browser]),
      '--json',
      '--page',
      'news',
      '--level',
      'medium',
      '--tree',
      'chrome',
      '--report',
      join(directory, browser),
      ...options,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const parts: string[] = [];
  const progress: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (part: string) => parts.push(part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    progress.push(part);
    onProgress(part, () => child.kill('SIGINT'));
  });
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code, progress.join('')).toBe(0);
  return JSON.parse(parts.join('')) as BrowserReport;
}

/** Both links are used, and carry the page together. How much each of them gets is ECF's choice, by the time it takes. */
function mustHaveUsedBothLinks(run: BrowserRun | undefined): void {
  const [first = 0, second = 0, ...others] = run?.links.map(({ datagrams }) => datagrams) ?? [];
  expect(Math.min(first, second)).toBeGreaterThan(0);
  expect(first + second).toBeGreaterThan(500);
  expect(others).toEqual([]);
}

test('Chromium loads a page through the edge and both links with each scheduler; Ctrl-C keeps what is done, and --resume does the rest', async () => {
  let stopped = false;
  const options = ['--scheduler', 'critical-first,rr', '--runs', '1'];
  const part = await bench('chromium', options, (text, interrupt) => {
    if (stopped || !text.includes('1 of 2 page loads')) return;
    stopped = true;
    interrupt();
  });
  // The second load may have begun already.
  expect(part.missing).toBeLessThanOrEqual(1);
  const kept = read('chromium', 'runs.jsonl').trimEnd().split('\n').slice(1);
  expect(kept).toHaveLength(2 - part.missing);

  const { browser, missing, cells, findings } = await bench('chromium', [...options, '--resume']);
  expect(read('chromium', 'runs.jsonl')).toContain(kept[0]);
  expect(browser).toMatch(/^Chromium \d/);
  expect(missing).toBe(0);
  expect(cells.map(({ scheduler, runs }) => [scheduler, runs])).toEqual([
    ['critical-first', 1],
    ['rr', 1],
  ]);
  for (const { fcp_ms, lcp_ms, load_ms, critical_ms } of cells) {
    expect(fcp_ms.median).toBeGreaterThan(0);
    expect(lcp_ms.median).toBeGreaterThanOrEqual(fcp_ms.median);
    expect(load_ms.median).toBeGreaterThan(0);
    expect(critical_ms.median).toBeGreaterThan(0);
  }
  // Which of them is earlier is a matter of the machine; that it is told is not.
  expect(findings.map(({ measured }) => measured.length)).toEqual([1, 1, 1]);

  const { runs } = JSON.parse(read('chromium', 'report.json')) as { runs: Record<string, BrowserRun[]> };
  for (const [run] of Object.values(runs)) {
    expect(run?.done_ms.slice(0, 3).every((time) => typeof time === 'number')).toBe(true);
    // Far below, they are not asked for.
    expect(run?.done_ms).toContain(null);
    mustHaveUsedBothLinks(run);
  }
  for (const name of ['report.html', 'report.md', 'cells.csv', 'runs.csv'])
    expect(existsSync(join(directory, 'chromium', name)), name).toBe(true);
}, 1_200_000);

test('Firefox loads a page through the edge and both links', async () => {
  const { browser, missing, cells } = await bench('firefox', ['--scheduler', 'critical-first', '--runs', '1']);
  expect(browser).toMatch(/^Firefox \d/);
  expect(missing).toBe(0);
  expect(cells).toHaveLength(1);
  const { runs } = JSON.parse(read('firefox', 'report.json')) as { runs: Record<string, BrowserRun[]> };
  for (const [run] of Object.values(runs)) {
    expect(run?.fcp_ms).toBeGreaterThan(0);
    expect(run?.lcp_ms).toBeGreaterThanOrEqual(run?.fcp_ms ?? NaN);
    expect(run?.lcp_element).toBe('/news/images/lead.webp');
    expect(run?.done_ms.slice(0, 3).every((time) => typeof time === 'number')).toBe(true);
    // The links take 20 ms, so no resource is there when it is asked for.
    for (const [index, done] of (run?.done_ms ?? []).entries()) {
      if (done === null) continue;
      expect(done).toBeGreaterThan(run?.requested_ms[index] ?? NaN);
    }
    mustHaveUsedBothLinks(run);
  }
}, 600_000);

test('virtual time and a browser exclude each other', async () => {
  const world = { stdout: new PassThrough(), stderr: new PassThrough() };
  await expect(runBench('pages', { browser: 'chromium', sim: true }, world)).rejects.toMatchObject({
    code: 'USAGE',
    message: '--sim: not with --browser',
  });
  await expect(runBench('pages', { browser: '', clients: '2' }, world)).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('--clients'),
  });
});
