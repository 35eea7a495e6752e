import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HtmlScanner, type StartTag } from '../src/service_worker/html_scanner.js';
import { PageHints } from '../src/service_worker/page_hints.js';

const page = 'https://a.test/dir/page';

function tagsOf(...parts: string[]): string[] {
  const tags: string[] = [];
  const scanner = new HtmlScanner(({ name, attributes }: StartTag) =>
    tags.push([name, ...[...attributes].map(([key, value]) => `${key}=${value}`)].join(' ')),
  );
  for (const part of parts) scanner.push(part);
  return tags;
}

/** Reads a document that arrives in these parts. */
async function hintsOf(...parts: string[]): Promise<PageHints> {
  const hints = new PageHints(page);
  const document = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(Buffer.from(part));
      controller.close();
    },
  });
  expect(await new Response(hints.observe(document)).text()).toBe(parts.join(''));
  return hints;
}

describe('start tags', () => {
  test.each([
    ['<p>', ['p']],
    ['<IMG SRC=a.png Alt = "x > y" hidden>', ['img src=a.png alt=x > y hidden=']],
    ["<a href='b\"c' href=d>", ['a href=b"c']],
    ['<br/><img src="x"/>', ['br', 'img src=x']],
    // HTML standard §13.2.5.38: the slash belongs to a value without quotes.
    ['<img src=x/>', ['img src=x/']],
    ['<!-- <img src=a> --><p>', ['p']],
    ['<!doctype html></p><p>', ['p']],
    ['<script src=a>document.write("<img src=b>")</script><p>', ['script src=a', 'p']],
    ['<style>a::after { content: "<b>" }</STYLE ><p>', ['style', 'p']],
    ['<title>1 < 2 <i></title><p>', ['title', 'p']],
    ['1 < 2, 3 > 2 <p>', ['p']],
    ['<p', []],
  ])('%s', (text, expected) => {
    expect(tagsOf(text)).toEqual(expected);
  });

  test('are the same however the document is cut', () => {
    const document =
      '<!doctype html><!-- a <p> --><title>x<y</title><link rel=stylesheet href="a.css"><script>"<b>"</script>' +
      '<img alt=\'>\' src=b.png><style><i></style><video poster=c><a title="-->">';
    const whole = tagsOf(document);
    expect(whole).toHaveLength(7);
    fc.assert(
      fc.property(fc.array(fc.nat(document.length), { maxLength: 12 }), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), document.length];
        const parts = places.slice(1).map((end, index) => document.slice(places[index], end));
        expect(tagsOf(...parts)).toEqual(whole);
      }),
    );
  });

  test('of hostile text are found or not, and little of it is kept', () => {
    const pieces = fc.constantFrom(
      '<',
      '<!--',
      '-->',
      '<script',
      '</script>',
      '"',
      "'",
      '=',
      '>',
      ' ',
      'a',
      '/',
      '<img src=',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 200 }), (parts) => {
        tagsOf(...parts);
      }),
      { numRuns: 2_000 },
    );
    const scanner = new HtmlScanner(() => undefined);
    for (const start of ['<a ', '<!--', '<script>', '<a b="']) {
      scanner.push(start);
      for (let round = 0; round < 200; round += 1) scanner.push('x '.repeat(4_000));
    }
    expect(JSON.stringify(scanner).length).toBeLessThan(100_000);
  });
});

describe('what the markup says', () => {
  test.each([
    ['<link rel=stylesheet href=x>', 'blocking', 'auto'],
    ['<link rel=stylesheet media="(min-width: 1px)" href=x>', 'blocking', 'auto'],
    ['<link rel=stylesheet media=print href=x>', 'deferred', 'auto'],
    ['<script src=x></script>', 'blocking', 'auto'],
    ['<script src=x async></script>', 'deferred', 'auto'],
    ['<script src=x defer></script>', 'deferred', 'auto'],
    ['<script src=x type=module></script>', 'deferred', 'auto'],
    ['<img src=y><script src=x></script>', 'late', 'auto'],
    ['<link rel=preload as=font href=x crossorigin>', 'preload', 'auto'],
    ['<link rel=modulepreload href=x>', 'preload', 'auto'],
    ['<link rel=prefetch href=x>', 'prefetch', 'auto'],
    ['<img src=x>', 'early', 'auto'],
    ['<img src=x fetchpriority=high>', 'early', 'high'],
    ['<img src=x loading=lazy>', 'lazy', 'auto'],
    ['<img src=x width=20 height=20>', 'elsewhere', 'auto'],
    ['<img src=y srcset="z 1x, x 2x">', 'early', 'auto'],
    ['<img src=y srcset="z 1x,x 2x">', 'early', 'auto'],
    ['<img src=y srcset=" ,x 800w">', 'early', 'auto'],
    ['<img src=y srcset="z,x, x">', 'early', 'auto'],
    ['<img src=y srcset="x,, z 2x">', 'early', 'auto'],
    ['<picture><source srcset="x 800w"><img src=y></picture>', 'early', 'auto'],
    ['<iframe src=x loading=lazy></iframe>', 'lazy', 'auto'],
    ['<video poster=x></video>', 'elsewhere', 'auto'],
  ])('%s', async (markup, placement, fetchPriority) => {
    expect((await hintsOf(markup)).of('https://a.test/dir/x')).toEqual({ placement, fetchPriority });
  });

  test.each([
    '<script nomodule src=x></script>',
    '<a href=x>',
    '<link rel=icon href=x>',
    '<link rel="alternate stylesheet" href=x>',
  ])('%s says nothing', async (markup) => {
    expect((await hintsOf(markup)).of('https://a.test/dir/x')).toBeUndefined();
  });

  test('five images count as early, small ones do not count', async () => {
    const small = '<img src=s width=16 height=16>';
    const images = Array.from({ length: 7 }, (_, index) => `<img src=${index}>`);
    const hints = await hintsOf(small, small, ...images);
    const placements = images.map((_, index) => hints.of(`https://a.test/dir/${index}`)?.placement);
    expect(placements).toEqual([...Array.from({ length: 5 }, () => 'early'), 'elsewhere', 'elsewhere']);
  });

  test('URLs are those of the document, its base, and without fragments; the first mention counts', async () => {
    const hints = await hintsOf('<img src=/a#b><base href=/other/><img src="c?d&amp;e"><img src=/a loading=lazy>');
    expect(hints.of('https://a.test/a')?.placement).toBe('early');
    expect(hints.of('https://a.test/other/c?d&e')?.placement).toBe('early');
  });

  test('a URL of a srcset may contain commas, and thousands stand beside it', async () => {
    const hints = await hintsOf(
      '<img srcset="b,c 1x, d 2x">',
      `<img srcset="${','.repeat(60_000)}e${','.repeat(4_000)} 1x">`,
    );
    expect(['b,c', 'd', 'e'].map((url) => hints.of(`https://a.test/dir/${url}`)?.placement)).toEqual([
      'early',
      'early',
      'early',
    ]);
    expect(hints.of('https://a.test/dir/c')).toBeUndefined();
  });

  test('a document full of references leaves a bounded number of hints', async () => {
    const hints = await hintsOf(Array.from({ length: 5_000 }, (_, index) => `<img src=${index}>`).join(''));
    expect(hints.of('https://a.test/dir/1999')).toBeDefined();
    expect(hints.of('https://a.test/dir/2000')).toBeUndefined();
  });
});
