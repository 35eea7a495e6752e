import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildPage, ensurePages, formatPageTable, pageNames, pageResources, parsePageTable, type PageResource } from '../../../src/index.js';
import { font } from '../../../src/pages/content/font.js';
import { gif } from '../../../src/pages/content/gif.js';
import { jpeg } from '../../../src/pages/content/jpeg.js';
import { png } from '../../../src/pages/content/png.js';
import { seededRandom } from '../../../src/pages/content/random.js';
import { webp } from '../../../src/pages/content/webp.js';

const random = () => seededRandom('test');

describe('the published pages', () => {
  // Resources and bytes of the published measurements.
  it.each([
    ['google', 15, 1_639_215],
    ['youtube', 51, 1_609_657],
    ['amazon', 25, 4_983_933],
  ])('%s has %i resources and %i bytes', async (name, count, bytes) => {
    const files = buildPage(name, await pageResources(name));
    expect(files).toHaveLength(count);
    expect(files.reduce((sum, { content }) => sum + content.length, 0)).toBe(bytes);
  });
});

describe('every page', async () => {
  it.each(await pageNames())('%s has exactly the bytes of its table, all of them valid', async (name) => {
    for (const { resource, content, valid } of buildPage(name, await pageResources(name))) {
      expect([resource.path, content.length, valid]).toEqual([resource.path, resource.bytes, true]);
    }
  });

  it.each(await pageNames())('%s asks for all that it has', async (name) => {
    const files = buildPage(name, await pageResources(name));
    const text = files.filter(({ file }) => /\.(html|css|js)$/.test(file)).map(({ content }) => content.toString()).join('\n');
    for (const { file } of files.slice(1)) expect(text).toContain(file.slice(file.lastIndexOf('/') + 1));
  });

  it('is the same on every machine', async () => {
    const hash = createHash('sha256');
    for (const name of await pageNames()) for (const { file, content } of buildPage(name, await pageResources(name))) hash.update(file).update(content);
    expect(hash.digest('hex')).toMatchInlineSnapshot(`"bf1095e2d364faf6053218d01dab6286f0b8a0bcc7c1566837157d9218c3a01e"`);
  });

  it('is written once', async () => {
    const directory = await ensurePages();
    const index = join(directory, 'amazon', 'index.html');
    const before = await stat(index);
    expect(before.size).toBe(17_734);
    expect((await stat(join(await ensurePages(), 'amazon', 'index.html'))).mtimeMs).toBe(before.mtimeMs);
    expect(await readFile(index, 'utf8')).toContain('<img src="img/dress.png"');
  });
});

describe('images and fonts of any size', () => {
  const sizes = [...Array.from({ length: 700 }, (_, size) => size), ...Array.from({ length: 300 }, (_, index) => 4_000 + index), 65_600, 131_000, 131_071, 2_995_453];

  it.each([
    ['PNG', png, 70],
    ['JPEG', jpeg, 160],
    ['WebP', webp, 70],
    ['GIF', gif, 40],
    ['font', (bytes: number) => font(bytes), 5_000],
  ] as const)('%s', (_name, make, least) => {
    for (const size of sizes) {
      const made = make(size, random());
      if (made) expect(made.length).toBe(size);
      else expect(size).toBeLessThan(least);
    }
  });

  it('PNG has sound chunks', () => {
    const file = png(12_345, random())!;
    const types: string[] = [];
    for (let offset = 8; offset < file.length; offset += file.readUInt32BE(offset) + 12) types.push(file.toString('latin1', offset + 4, offset + 8));
    expect(types.filter((type) => type !== 'paDd')).toEqual(['IHDR', 'PLTE', 'IDAT', 'IEND']);
  });
});

describe('names', () => {
  const resource = (path: string, load: PageResource['load'] = 'image', type = 'image/png'): PageResource => ({ path, bytes: 100, type, class: 'other', load });
  const filesOf = (...resources: PageResource[]): string[] => buildPage('test', [resource('', 'document', 'text/html'), ...resources]).map(({ file }) => file).slice(1);

  it('lead nowhere but below the page', () => {
    const hostile = ['../../etc/passwd', '/../..', '..', '.', '//../..//x', 'a/../../b', '%2e%2e/%2e%2e/x', 'a\0b', 'a\\..\\b', `${'d/'.repeat(500)}x`, 'n'.repeat(2_000), 'con?../../x', '//evil.example/../../x', 'index.html', 'INDEX.HTML'];
    const files = filesOf(...hostile.map((path) => resource(path)));
    expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(hostile.length);
    for (const file of files) {
      expect(file).toMatch(/^[A-Za-z0-9_=,@~-][A-Za-z0-9._=,@~/-]*\.png$/);
      expect(file.split('/').every((segment) => segment !== '' && !segment.startsWith('.') && segment.length <= 100)).toBe(true);
    }
  });

  it('tell the content type, and keep apart what differs in its query, or is a file here and a directory there', () => {
    expect(filesOf(resource('a/b.png'), resource('pixel'), resource('x.jpg'), resource('data', 'fetch', 'application/json'))).toEqual(['a/b.png', 'pixel.png', 'x.jpg.png', 'data.json']);
    const [one, two] = filesOf(resource('p?a=1'), resource('p?a=2'));
    expect(one).not.toBe(two);
    expect(filesOf(resource('x.png'), resource('x.png/y.png'), resource('//cdn.example/lib.js', 'async'))).toEqual(['x.png', '1-y.png', 'hosts/cdn.example/lib.js']);
  });
});

describe('a document with little room', () => {
  it('grows by what its references need, and only then', () => {
    const images = Array.from({ length: 40 }, (_, index): PageResource => ({ path: `image-${index}.png`, bytes: 100, type: 'image/png', class: 'image', load: 'image' }));
    const page = (bytes: number): Buffer => buildPage('test', [{ path: '', bytes, type: 'text/html', class: 'html', load: 'document' }, ...images])[0]!.content;
    const least = page(0).length;
    expect(page(100).length).toBe(least);
    for (const bytes of [least, least + 1, least + 6, least + 7, least + 500, least + 50_000]) expect(page(bytes).length).toBe(bytes);
  });

  it('takes fonts that no style sheet has room for', () => {
    const resources: PageResource[] = [
      { path: '', bytes: 5_000, type: 'text/html', class: 'html', load: 'document' },
      { path: 'small.css', bytes: 20, type: 'text/css', class: 'css', load: 'style' },
      { path: 'fonts/a.woff2', bytes: 20_000, type: 'font/woff2', class: 'font', load: 'css' },
    ];
    const [document, style] = buildPage('test', resources);
    expect(document?.content.toString()).toContain('url("fonts/a.woff2")');
    expect(style?.content.toString()).not.toContain('url(');
  });
});

describe('a table', () => {
  const line = 'a.png\t100\timage/png\timage\timage';
  const start = 'path\tbytes\ttype\tclass\tload\nindex.html\t1000\ttext/html\thtml\tdocument\n';

  it('survives the round trip', async () => {
    const resources = await pageResources('shop');
    expect(parsePageTable(formatPageTable(resources), 'shop')).toEqual(resources);
  });

  it.each([
    ['', 1],
    [`${line}\n`, 1],
    [start.split('\n')[0]!, 2],
    [`${start}${line}\textra`, 3],
    [`${start}${line.replace('100', '-1')}`, 3],
    [`${start}${line.replace('100', '1e3')}`, 3],
    [`${start}${line.replace('100', '999999999')}`, 3],
    [`${start}${line.replace('\timage\timage', '\tpicture\timage')}`, 3],
    [`${start}${line.replace(/image$/, 'eager')}`, 3],
    [`${start}${line.replace(/image$/, 'document')}`, 3],
    [`${start}${`${line}\n`.repeat(2_000)}`, 2_002],
    [`${start}${`${line.replace('100', '33554432')}\n`.repeat(9)}`, 11],
  ])('that is wrong is refused with its line: %#', (text, at) => {
    expect(() => parsePageTable(text, 'x.tsv')).toThrow(`x.tsv:${at}:`);
  });
});
