import { describe, expect, test } from 'vitest';
import { parseGatewayDescription } from '../src/protocol/index.js';
import { pageLoaderResource } from '../src/gateway_side/index.js';

const hash = 'ab'.repeat(32);

describe('the description of a gateway', () => {
  test.each([
    [{ hashes: [] }, { hashes: [] }],
    [
      { hashes: [hash], authority: '127.0.0.1:4433' },
      { hashes: [hash], authority: '127.0.0.1:4433' },
    ],
    [
      { hashes: [hash], authority: '[::1]:4433' },
      { hashes: [hash], authority: '[::1]:4433' },
    ],
    [{ hashes: [], later: true }, { hashes: [] }],
  ])('%j is read', (value, expected) => {
    expect(parseGatewayDescription(value)).toEqual(expected);
  });

  test.each([
    [null],
    [[]],
    [{}],
    [{ hashes: 'ab' }],
    [{ hashes: [hash.slice(1)] }],
    [{ hashes: [hash.toUpperCase()] }],
    [{ hashes: Array.from({ length: 17 }, () => hash) }],
    [{ hashes: [], authority: 4433 }],
    [{ hashes: [], authority: 'a.test/path' }],
    [{ hashes: [], authority: 'user@a.test' }],
    [{ hashes: [], authority: 'a.test:99999' }],
    [{ hashes: [], authority: '' }],
  ])('%j is refused', (value) => {
    expect(() => parseGatewayDescription(value)).toThrow(TypeError);
  });
});

describe("the page loader's files", () => {
  test('are served with what the browser asks of them', async () => {
    const worker = await pageLoaderResource('/.well-known/sheaf/page-worker.js');
    expect(worker?.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'service-worker-allowed': '/',
    });
    for (const path of ['start', 'start.js', 'page-loader.js']) {
      expect((await pageLoaderResource(`/.well-known/sheaf/${path}`))?.body.length).toBeGreaterThan(0);
    }
  });

  test.each(['', 'start/', '../start', 'constructor', 'page'])('do not include %j', async (path) => {
    expect(await pageLoaderResource(`/.well-known/sheaf/${path}`)).toBeUndefined();
  });
});
