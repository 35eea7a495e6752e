import { brotliCompressSync, gzipSync } from 'node:zlib';
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { get, getByHttp2 } from '../../support/client.js';
import { startGateway } from '../../support/gateway.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';

const script = `console.log(${JSON.stringify('x'.repeat(500))});\n`;
let directory: string;
let port: number;

beforeEach(async () => {
  directory = await temporaryDirectory();
  await mkdir(join(directory, 'site', 'sub', 'deep'), { recursive: true });
  await mkdir(join(directory, 'site', '.git'));
  await mkdir(join(directory, 'site', '.well-known'));
  const files: Record<string, string | Buffer> = {
    'site/index.html': '<h1>home</h1>',
    'site/sub/index.html': '<h1>sub</h1>',
    'site/digits.txt': '0123456789',
    'site/empty.css': '',
    'site/ümlaut & space.html': 'named',
    'site/app.js': script,
    'site/app.js.br': brotliCompressSync(script),
    'site/app.js.gz': gzipSync(script),
    'site/only.css.gz': gzipSync('body{}'),
    'site/photo.png': 'png',
    'site/photo.png.gz': 'never',
    'site/.env': 'SECRET=1',
    'site/.git/config': 'secret',
    'site/.well-known/security.txt': 'Contact: mailto:a@example.com',
    'secret.txt': 'secret',
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(directory, name), content);
  await symlink(join(directory, 'secret.txt'), join(directory, 'site', 'link.txt'));
  await symlink(join(directory, 'site', 'digits.txt'), join(directory, 'site', 'inner.txt'));
  ({ port } = await startGateway('routes: [{ path: /prefix, files: ./site }, { files: ./site }]', directory));
});

describe('types and names', () => {
  it.each([
    ['/', 'text/html; charset=utf-8'],
    ['/app.js', 'text/javascript; charset=utf-8'],
    ['/empty.css', 'text/css; charset=utf-8'],
    ['/photo.png', 'image/png'],
  ])('%s is %s', async (path, type) => {
    const { status, headers } = await get(port, path);
    expect([status, headers['content-type']]).toEqual([200, type]);
    expect(headers['x-content-type-options']).toBe('nosniff');
  });

  it('decodes the path', async () => {
    expect((await get(port, '/%C3%BCmlaut%20&%20space.html')).body.toString()).toBe('named');
  });

  it('takes the prefix of the route away', async () => {
    expect((await get(port, '/prefix/digits.txt')).body.toString()).toBe('0123456789');
    expect((await get(port, '/prefix/')).body.toString()).toBe('<h1>home</h1>');
    expect((await get(port, '/prefixed')).status).toBe(404);
  });

  it('serves the same over HTTP/2', async () => {
    const { status, body, headers } = await getByHttp2(port, '/digits.txt');
    expect([status, body.toString(), headers['content-length']]).toEqual([200, '0123456789', '10']);
  });

  it('answers HEAD without a body', async () => {
    const { status, headers, body } = await get(port, '/digits.txt', { method: 'HEAD' });
    expect([status, headers['content-length'], body.length]).toEqual([200, '10', 0]);
  });

  it('serves an empty file', async () => {
    expect(await get(port, '/empty.css')).toMatchObject({ status: 200, body: Buffer.alloc(0) });
  });

  it('takes GET and HEAD alone', async () => {
    const { status, headers } = await get(port, '/digits.txt', { method: 'POST', body: Buffer.from('x') });
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});

describe('directories', () => {
  it('answers with the index', async () => {
    expect((await get(port, '/sub/')).body.toString()).toBe('<h1>sub</h1>');
  });

  it.each([
    ['/sub', '/sub/'],
    ['/sub?a=1', '/sub/?a=1'],
    ['/prefix/sub', '/prefix/sub/'],
    ['/prefix', '/prefix/'],
    ['/%70refix?a=1', '/prefix/?a=1'],
    ['//sub', '/sub/'],
  ])('redirects %s to %s', async (path, location) => {
    const { status, headers } = await get(port, path);
    expect([status, headers.location]).toEqual([308, location]);
  });

  it('does not list one without an index', async () => {
    expect((await get(port, '/sub/deep/')).status).toBe(404);
  });
});

describe('ranges', () => {
  it('are for GET alone', async () => {
    expect(
      (await get(port, '/digits.txt', { method: 'HEAD', headers: { range: 'bytes=0-1' } })).headers['content-length'],
    ).toBe('10');
  });

  it.each([
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=0-100', 206, '0123456789', 'bytes 0-9/10'],
    ['lines=0-1', 200, '0123456789', undefined],
    ['bytes=-100', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=9-9', 206, '9', 'bytes 9-9/10'],
    ['bytes=-', 200, '0123456789', undefined],
    ['bytes=a-2', 200, '0123456789', undefined],
    ['bytes=0x1-2', 200, '0123456789', undefined],
    ['bytes=2', 200, '0123456789', undefined],
  ])('%s', async (range, status, body, contentRange) => {
    const answer = await get(port, '/digits.txt', { headers: { range } });
    expect([answer.status, answer.body.toString(), answer.headers['content-range']]).toEqual([
      status,
      body,
      contentRange,
    ]);
  });

  it('sends the whole file for several ranges', async () => {
    const answer = await get(port, '/digits.txt', { headers: { range: 'bytes=0-1,4-5' } });
    expect([answer.status, answer.body.toString()]).toEqual([200, '0123456789']);
  });

  it.each(['bytes=10-', 'bytes=5-2', 'bytes=-0', 'bytes=99999999999999999999-'])('refuses %s', async (range) => {
    const answer = await get(port, '/digits.txt', { headers: { range } });
    expect([answer.status, answer.headers['content-range']]).toEqual([416, 'bytes */10']);
  });

  it('sends the whole file when If-Range does not match', async () => {
    const answer = await get(port, '/digits.txt', { headers: { range: 'bytes=0-1', 'if-range': '"other"' } });
    expect(answer.status).toBe(200);
  });
});

describe('conditional requests', () => {
  it('answers 304 while the entity tag is the same', async () => {
    const first = await get(port, '/digits.txt');
    const again = await get(port, '/digits.txt', { headers: { 'if-none-match': first.headers.etag ?? '' } });
    expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, first.headers.etag]);
    await writeFile(join(directory, 'site/digits.txt'), 'changed');
    const changed = await get(port, '/digits.txt', { headers: { 'if-none-match': first.headers.etag ?? '' } });
    expect([changed.status, changed.body.toString()]).toEqual([200, 'changed']);
  });

  it('answers 304 while the file is not newer', async () => {
    await utimes(join(directory, 'site/digits.txt'), new Date('2025-01-01'), new Date('2025-01-01'));
    const since = (date: string) =>
      get(port, '/digits.txt', { headers: { 'if-modified-since': new Date(date).toUTCString() } });
    expect((await since('2025-01-02')).status).toBe(304);
    expect((await since('2024-12-31')).status).toBe(200);
  });

  it('answers 412 when a precondition fails', async () => {
    expect((await get(port, '/digits.txt', { headers: { 'if-match': '"other"' } })).status).toBe(412);
  });
});

describe('entity tags', () => {
  /** Written long ago: its tag is strong. */
  async function settledTag(path = 'digits.txt', headers = {}): Promise<string> {
    for (const name of ['digits.txt', 'app.js', 'app.js.br', 'app.js.gz'])
      await utimes(join(directory, 'site', name), new Date('2025-01-01'), new Date('2025-01-01'));
    return (await get(port, `/${path}`, { headers })).headers.etag ?? '';
  }
  const status = async (headers: Record<string, string>) => (await get(port, '/digits.txt', { headers })).status;

  it('are weak just after a change, and strong once the file has settled', async () => {
    expect((await get(port, '/digits.txt')).headers.etag).toMatch(/^W\/"/);
    expect(await settledTag()).toMatch(/^"/);
  });

  it('satisfy If-Range by strong comparison alone', async () => {
    const tag = await settledTag();
    expect(await status({ range: 'bytes=0-1', 'if-range': tag })).toBe(206);
    expect(await status({ range: 'bytes=0-1', 'if-range': `W/${tag}` })).toBe(200);
    expect(await status({ range: 'bytes=0-1', 'if-range': `x${tag}x` })).toBe(200);
    expect(await status({ range: 'bytes=99-', 'if-range': '"other"' })).toBe(200);
    await writeFile(join(directory, 'site/digits.txt'), '9876543210');
    const weak = (await get(port, '/digits.txt')).headers.etag ?? '';
    expect(weak).toMatch(/^W\//);
    expect(await status({ range: 'bytes=0-1', 'if-range': weak })).toBe(200);
  });

  it('satisfy If-Match by strong comparison alone', async () => {
    const tag = await settledTag();
    expect(await status({ 'if-match': `"a,b", ${tag}` })).toBe(200);
    expect(await status({ 'if-match': '*' })).toBe(200);
    expect(await status({ 'if-match': `W/${tag}` })).toBe(412);
    await writeFile(join(directory, 'site/digits.txt'), '9876543210');
    expect(await status({ 'if-match': (await get(port, '/digits.txt')).headers.etag ?? '' })).toBe(412);
  });

  it('satisfy If-None-Match by weak comparison', async () => {
    const tag = await settledTag();
    expect(await status({ 'if-none-match': `"x", W/${tag}` })).toBe(304);
    expect(await status({ 'if-none-match': '*' })).toBe(304);
    // It goes before the date (RFC 9110 §13.1.3).
    expect(await status({ 'if-none-match': '"x"', 'if-modified-since': new Date().toUTCString() })).toBe(200);
  });

  it('differ between the codings of one file', async () => {
    const tags = new Set([
      await settledTag('app.js'),
      await settledTag('app.js', { 'accept-encoding': 'br' }),
      await settledTag('app.js', { 'accept-encoding': 'gzip' }),
    ]);
    expect(tags.size).toBe(3);
  });

  it('leave dates as the other validator of If-Range, which has to be the very same', async () => {
    await settledTag();
    const date = (offset: number) => new Date(Date.parse('2025-01-01') + offset).toUTCString();
    expect(await status({ range: 'bytes=0-1', 'if-range': date(0) })).toBe(206);
    expect(await status({ range: 'bytes=0-1', 'if-range': date(86_400_000) })).toBe(200);
  });

  it('come before an unsatisfiable range', async () => {
    await settledTag();
    expect(await status({ range: 'bytes=99-', 'if-match': '"x"' })).toBe(412);
    expect(await status({ range: 'bytes=99-' })).toBe(416);
  });
});

describe('precompressed files', () => {
  it.each([
    ['br, gzip', 'br', '/app.js'],
    ['gzip', 'gzip', '/app.js'],
    ['gzip, br;q=0', 'gzip', '/app.js'],
    ['identity', undefined, '/app.js'],
    ['br', undefined, '/digits.txt'],
    ['gzip', 'gzip', '/only.css'],
    ['gzip', undefined, '/photo.png'],
  ])('Accept-Encoding: %s gives %s for %s', async (accepted, encoding, path) => {
    const { status, headers } = await get(port, path, { headers: { 'accept-encoding': accepted } });
    expect([status, headers['content-encoding']]).toEqual([200, encoding]);
  });

  it('keeps the type of the file itself, and says that the response varies', async () => {
    const packed = await get(port, '/app.js', { headers: { 'accept-encoding': 'br' } });
    const plain = await get(port, '/app.js');
    expect(packed.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect([packed.headers.vary, plain.headers.vary]).toEqual(['accept-encoding', 'accept-encoding']);
    expect(packed.headers.etag).not.toBe(plain.headers.etag);
    expect(packed.body.equals(brotliCompressSync(script))).toBe(true);
  });
});

describe('what must not be served', () => {
  it.each([
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/sub/..%2f..%2f..%2fsecret.txt',
    '/%2e%2e%2fsecret.txt',
    '/..%5csecret.txt',
    '/prefix/..%2f..%2fsecret.txt',
    '/link.txt',
    '/.env',
    '/%2eenv',
    '/.git/config',
    '/sub%2f..%2f.env',
    '/digits.txt%00.html',
    '/%ff',
  ])('%s', async (path) => {
    const { status, body } = await get(port, path);
    expect([400, 404]).toContain(status);
    expect(body.toString()).not.toMatch(/secret/i);
  });

  it('follows links inside the directory', async () => {
    expect((await get(port, '/inner.txt')).body.toString()).toBe('0123456789');
  });

  it('leaves .well-known public', async () => {
    expect((await get(port, '/.well-known/security.txt')).status).toBe(200);
  });
});
