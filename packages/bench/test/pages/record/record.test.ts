import { existsSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parsePageTable, recordHar, type Recording } from '../../../src/index.js';
import { parseHar } from '../../../src/pages/record/har.js';
import { recordPage } from '../../../src/pages/record/record_page.js';

const page = 'https://shop.example/items/?id=3';

interface Options {
  type?: string;
  bytes?: number;
  mime?: string;
  status?: number;
  method?: string;
  pageref?: string;
  priority?: string;
  initiator?: object;
}

/** An entry as Chromium's developer tools save it. */
function entry(
  url: string,
  {
    type,
    bytes = 2_000,
    mime = 'image/png',
    status = 200,
    method = 'GET',
    pageref = 'page_1',
    priority,
    initiator,
  }: Options = {},
): object {
  return {
    pageref,
    startedDateTime: '2026-01-01T00:00:00.000Z',
    time: 12.5,
    request: {
      method,
      url,
      httpVersion: 'h3',
      headers: [{ name: 'cookie', value: 'secret' }],
      queryString: [],
      cookies: [],
      headersSize: -1,
      bodySize: 0,
    },
    response: {
      status,
      statusText: '',
      httpVersion: 'h3',
      headers: [],
      cookies: [],
      redirectURL: '',
      headersSize: -1,
      bodySize: bytes,
      content: { size: bytes * 3, mimeType: mime, text: 'private' },
    },
    cache: {},
    timings: { send: 0, wait: 1, receive: 2 },
    ...(type && { _resourceType: type }),
    ...(priority && { _priority: priority }),
    ...(initiator && { _initiator: initiator }),
  };
}

const document = entry(page, { type: 'document', mime: 'text/html; charset=utf-8', bytes: 9_000 });
const har = (...entries: unknown[]): object => ({
  log: { version: '1.2', creator: { name: 'test', version: '1' }, pages: [], entries },
});

/** Records into a directory of its own. */
async function record(content: object | string, name = 'shop'): Promise<Recording & { directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-record-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'in.har');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return { ...(await recordHar(file, join(directory, 'out'), name)), directory };
}

const resources = (...entries: unknown[]) => recordPage(parseHar(har(...entries), 'x.har'), 'x.har');

describe('a HAR file', () => {
  it('becomes a table and a page of the same sizes, without its contents', async () => {
    const { table, site, invalid, documentGrowth, directory } = await record(
      har(
        document,
        entry('https://shop.example/a.css', { type: 'stylesheet', mime: 'text/css' }),
        entry('https://cdn.example/lib.js?v=2', { type: 'script', mime: 'text/javascript', priority: 'Low' }),
        entry('https://shop.example/i.webp', { type: 'image', mime: 'image/webp', bytes: 31_337 }),
        entry('https://shop.example/f.woff2', { type: 'font', mime: 'font/woff2', bytes: 25_001 }),
        entry('https://shop.example/api', { type: 'fetch', mime: 'application/json' }),
      ),
    );
    expect([invalid, documentGrowth]).toEqual([0, 0]);
    expect(parsePageTable(await readFile(table, 'utf8'), table)).toEqual([
      { path: 'items/?id=3', bytes: 9_000, type: 'text/html', class: 'html', load: 'document' },
      { path: 'a.css', bytes: 2_000, type: 'text/css', class: 'css', load: 'style' },
      { path: '//cdn.example/lib.js?v=2', bytes: 2_000, type: 'text/javascript', class: 'javascript', load: 'async' },
      { path: 'i.webp', bytes: 31_337, type: 'image/webp', class: 'image', load: 'image' },
      { path: 'f.woff2', bytes: 25_001, type: 'font/woff2', class: 'font', load: 'css' },
      { path: 'api', bytes: 2_000, type: 'application/json', class: 'xhr', load: 'fetch' },
    ]);
    expect((await stat(join(site, 'i.webp'))).size).toBe(31_337);
    const all = await Promise.all(
      (await readdir(join(directory, 'out'), { recursive: true, withFileTypes: true }))
        .filter((file) => file.isFile())
        .map((file) => readFile(join(file.parentPath, file.name), 'latin1')),
    );
    expect(all).toHaveLength(7);
    expect(all.join('')).not.toMatch(/private|secret/);
  });

  it('of a browser that says little is understood by its media types', () => {
    const { resources: found } = resources(
      entry(page, { mime: 'text/html' }),
      entry('https://shop.example/a', { mime: 'text/css' }),
      entry('https://shop.example/b', { mime: 'application/x-javascript' }),
      entry('https://shop.example/c', { mime: 'application/font-woff2' }),
      entry('https://shop.example/d', { mime: 'application/json' }),
      entry('https://shop.example/e', { mime: 'nonsense' }),
    );
    expect(found.map(({ class: kind }) => kind)).toEqual(['html', 'css', 'javascript', 'font', 'xhr', 'other']);
  });

  it.each([
    [{ type: 'script', priority: 'High' }, 'script'],
    [{ type: 'script', priority: 'Medium' }, 'late'],
    [{ type: 'script', priority: 'High', initiator: { type: 'script' } }, 'async'],
    [{ type: 'stylesheet', priority: 'VeryLow' }, 'print'],
    [{ type: 'image', initiator: { type: 'parser', url: 'https://shop.example/a.css?1' } }, 'css'],
    [{ type: 'font', initiator: { type: 'parser', url: page } }, 'preload'],
    [{ type: 'document', mime: 'text/html' }, 'frame'],
    [{ type: 'media', mime: 'video/mp4' }, 'fetch'],
  ])('%j is loaded as %s', (options, load) => {
    expect(resources(document, entry('https://shop.example/x', options)).resources[1]?.load).toBe(load);
  });

  it('leaves out what is not of the page, and says so', () => {
    const url = 'https://shop.example/x';
    const { resources: found, leftOut } = resources(
      entry('https://shop.example/', { status: 301, type: 'document' }),
      document,
      entry(url),
      entry(`${url}#again`),
      entry('https://shop.example/moved', { status: 302 }),
      entry('https://shop.example/post', { method: 'POST' }),
      entry('https://shop.example/next', { pageref: 'page_2' }),
      entry('https://shop.example/socket', { type: 'websocket' }),
      entry('data:image/png;base64,AAAA'),
      entry('chrome-extension://x/y.js'),
      entry('https://shop.example/huge', { bytes: 2 ** 40 }),
      entry(`https://shop.example/${'n'.repeat(3_000)}`),
      'nonsense',
      { request: {} },
    );
    expect(found.map(({ path }) => path)).toEqual(['items/?id=3', 'x']);
    expect(leftOut).toEqual({
      malformed: 2,
      repeated: 1,
      'no content': 2,
      'other method': 1,
      'other page': 1,
      'no end': 1,
      'no http URL': 2,
      'too large': 1,
      'long URL': 1,
    });
  });
});

describe('a hostile HAR file', () => {
  it('writes nowhere but into its directory', async () => {
    const { directory } = await record(
      har(
        document,
        ...[
          '../../../escaped',
          '%2e%2e/%2e%2e/escaped',
          '..%2f..%2fescaped',
          'a/..%5c..%5cescaped',
          '%00',
          'index.html',
        ].map((path) => entry(`https://shop.example/${path}`)),
        entry('https://..%2f..%2fescaped/x'),
        entry('https://[::1]/x'),
      ),
    );
    expect((await readdir(directory)).sort()).toEqual(['in.har', 'out']);
    expect((await readdir(join(directory, 'out'))).sort()).toEqual(['shop', 'shop.tsv']);
    expect(existsSync(join(tmpdir(), 'escaped.png'))).toBe(false);
  });

  it('cannot make a page without end', () => {
    const many = resources(
      document,
      ...Array.from({ length: 5_000 }, (_, index) => entry(`https://shop.example/${index}`)),
    );
    expect(many.resources).toHaveLength(2_000);
    const large = resources(
      document,
      ...Array.from({ length: 100 }, (_, index) => entry(`https://shop.example/${index}`, { bytes: 30 * 2 ** 20 })),
    );
    expect(large.resources.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(128 * 2 ** 20);
    expect(() => resources(...Array.from({ length: 10_001 }, () => document))).toThrow(/no HAR file/);
  });

  it.each([
    ['', /not JSON/],
    ['{', /not JSON/],
    ['[]', /no HAR file/],
    ['{"log":{"entries":7}}', /no HAR file/],
    [JSON.stringify(har()), /holds no page/],
    [JSON.stringify(har(entry('https://a.example/x.png'))), /holds no page/],
  ])('is refused with its reason: %#', async (content, reason) => {
    await expect(record(content)).rejects.toThrow(reason);
  });

  it('that does not exist is named', async () => {
    await expect(recordHar('/nowhere/x.har', '/nowhere', 'x')).rejects.toMatchObject({
      code: 'HAR_INVALID',
      message: expect.stringContaining('ENOENT') as string,
    });
  });

  it('never leads to a table that is refused', () => {
    const entryOf = fc.record(
      {
        pageref: fc.constantFrom('page_1', 'page_2'),
        request: fc.record({
          method: fc.constantFrom('GET', 'POST', ''),
          url: fc.oneof(fc.webUrl(), fc.string(), fc.constant(page)),
        }),
        response: fc.record({
          status: fc.integer({ min: 0, max: 600 }),
          bodySize: fc.oneof(fc.integer({ min: -1, max: 100_000 }), fc.double()),
          content: fc.record({ size: fc.nat(100_000), mimeType: fc.string() }, { requiredKeys: [] }),
        }),
        _resourceType: fc.constantFrom('script', 'image', 'font', 'other', 'document'),
        _priority: fc.string(),
      },
      { requiredKeys: ['request', 'response'] },
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(entryOf, fc.anything()), { maxLength: 20 }), (entries) => {
        const { resources: found } = resources(document, ...entries);
        for (const { path, type } of found) expect(`${path}${type}`).not.toMatch(/[\t\n]/);
      }),
    );
  });
});
