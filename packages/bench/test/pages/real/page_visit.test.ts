import { expect, test } from 'vitest';
import type { PageBrowser } from '../../../src/pages/real/page_browser.js';
import { visitPage, type VisitTimes } from '../../../src/pages/real/page_visit.js';

const ORIGIN = 'http://localhost:1';

const request = (path: string, more: object = {}): object => ({
  url: ORIGIN + path,
  transport: 'webtransport',
  state: 'done',
  startedAt: 1010,
  headAt: 1020,
  endedAt: 1050,
  ...more,
});

const unfinished = { state: 'receiving', endedAt: undefined };

/** A browser of which each question for the requests has the next answer, the last one again and again */
function browserWith(
  answers: readonly (readonly object[])[],
  { completes = true, warms = true, arrives = true } = {},
): PageBrowser {
  let asked = 0;
  const evaluate = (expression: string): Promise<unknown> => {
    if (expression.includes('data-complete')) return completes ? Promise.resolve() : new Promise(() => undefined);
    if (expression.includes('largest-contentful-paint'))
      return Promise.resolve({ origin: 1000, fcp_ms: 20, lcp_ms: 40, lcp_element: `${ORIGIN}/a.png`, load_ms: 60 });
    if (expression.includes("type: 'status'")) return Promise.resolve(answers[asked++] ?? answers.at(-1));
    return warms ? Promise.resolve(true) : new Promise(() => undefined);
  };
  return {
    version: 'Browser 1',
    open: () =>
      Promise.resolve({
        go: (url) =>
          arrives || url.includes('/start?') ? Promise.resolve() : Promise.reject(new Error('the server hung up')),
        arrive: () => Promise.resolve(),
        evaluate: <Value>(expression: string) => evaluate(expression) as Promise<Value>,
        close: () => Promise.resolve(),
      }),
    close: () => Promise.resolve(),
  };
}

const visit = (browser: PageBrowser, limit_ms = 60_000): Promise<VisitTimes> =>
  visitPage(browser, {
    origin: ORIGIN,
    warmPage: '/warm/index.html',
    warmFiles: [],
    ready: () => Promise.resolve(),
    page: '/index.html?sheaf-style=chrome',
    resources: [
      { path: '/index.html', critical: true },
      { path: '/a.png', critical: false },
      { path: '/below.png', critical: false },
    ],
    limit_ms,
  });

const page = request('/index.html');

test('times begin with the navigation; a resource that was not requested has none', async () => {
  expect(await visit(browserWith([[page, request('/a.png', { endedAt: 1090 })]]))).toEqual({
    fcp_ms: 20,
    lcp_ms: 40,
    lcp_element: '/a.png',
    load_ms: 60,
    requested_ms: [10, 10, null],
    first_ms: [20, 20, null],
    done_ms: [50, 90, null],
  });
});

test('a visit waits for requests that are not complete when the page is', async () => {
  const { done_ms } = await visit(
    browserWith([
      [page, request('/a.png', unfinished)],
      [page, request('/a.png')],
    ]),
  );
  expect(done_ms).toEqual([50, 50, null]);
});

test.for([
  ['the page is not complete', [[page]], { completes: false }],
  ['a request is not complete', [[page, request('/a.png', unfinished)]], {}],
] as const)('a load is censored at its limit when %s', async ([, answers, options]) => {
  expect(await visit(browserWith(answers, options), 50)).toEqual({
    censored: 'the page was not complete after 50 ms',
    fcp_ms: 50,
    lcp_ms: 50,
    lcp_element: '',
    load_ms: 50,
    requested_ms: [null, null, null],
    first_ms: [null, null, null],
    done_ms: [null, null, null],
  });
});

test.for([{ transport: 'fetch' }, { state: 'failed' }])(
  'a load that the session did not carry is censored: %j',
  async (wrong) => {
    const { censored, lcp_ms } = await visit(browserWith([[page, request('/a.png', { ...unfinished, ...wrong })]]));
    expect(censored).toMatch(/^http:\/\/localhost:1\/a\.png came by /);
    expect(lcp_ms).toBe(60_000);
  },
);

test.for([
  ['the browser has not asked for /index.html, which is critical', [request('/a.png')]],
  ['http://localhost:1/warm/1.bin came by fetch, done', [page, request('/warm/1.bin', { transport: 'fetch' })]],
  ['the page loader was not asked for anything', []],
] as const)('what the laboratory failed at is no load: %s', async ([message, loads]) => {
  await expect(visit(browserWith([loads]))).rejects.toMatchObject({ code: 'BENCH_FAILED', message });
});

test('a load whose document does not arrive is censored, not repeated', async () => {
  const { censored, load_ms } = await visit(browserWith([[page]], { arrives: false }));
  expect({ censored, load_ms }).toEqual({
    censored: 'the document did not arrive: the server hung up',
    load_ms: 60_000,
  });
});

test('a warm-up that does not end fails at the limit', async () => {
  await expect(visit(browserWith([[page]], { warms: false }), 20)).rejects.toThrow(
    'the first files did not arrive within 20 ms',
  );
});
