import { describe, expect, it } from 'vitest';
import { parseGateway } from '../support/configuration.js';
import { parseRequestTarget } from '../../src/http/request_target.js';
import { compileRoute, findRoute } from '../../src/http/router.js';

const { node } = parseGateway(
  `
listen: 127.0.0.1:0
routes:
  - { host: api.example, path: /v1, methods: [GET, POST], files: . }
  - { host: "*.wild.example", files: . }
  - { path: /only, methods: PUT, files: . }
  - { path: /slash/, files: . }
  - { host: [a.example, "[::1]"], path: /deep/er, files: . }
  - { host: b.example, path: "/ä b/", files: . }
  - { host: b.example, path: /api/, files: . }
  - { host: b.example, files: . }
`,
  'sheaf.yaml',
);
const routes = node.routes.map((route, index) => compileRoute(route, index, index));

function find(method: string, host: string, pathname: string): string {
  const match = findRoute(routes, { method, host, pathname });
  if (match.found) return `${match.route.answer} ${match.rest}`;
  return match.ambiguous ? 'ambiguous' : `none ${match.allow.join(',')}`;
}

function findTarget(target: string): string {
  return find('GET', 'b.example', parseRequestTarget(target)?.routed ?? '');
}

describe('the first matching route', () => {
  it.each([
    ['GET', 'api.example', '/v1', '0 /'],
    ['GET', 'API.example.:443', '/v1/users', '0 /users'],
    ['GET', 'api.example', '/v10', 'none '],
    ['DELETE', 'api.example', '/v1/x', 'none GET,POST'],
    ['GET', 'x.wild.example', '/', '1 /'],
    ['GET', 'x.y.wild.example:8443', '/a', '1 /a'],
    ['GET', 'wild.example', '/', 'none '],
    ['GET', 'evilwild.example', '/', 'none '],
    ['PUT', 'any', '/only/x', '2 /x'],
    ['GET', 'any', '/only/x', 'none PUT'],
    ['GET', 'any', '/slash', '3 /'],
    ['GET', 'any', '/slash/', '3 /'],
    ['GET', 'any', '/slashed', 'none '],
    ['GET', 'a.example', '/deep/er/x', '4 /x'],
    ['GET', '[::1]:4433', '/deep/er', '4 /'],
    ['GET', '', '/', 'none '],
  ])('%s %s%s is %s', (method, host, pathname, expected) => {
    expect(find(method, host, pathname)).toBe(expected);
  });
});

describe('every spelling of a path', () => {
  it.each([
    ['/api/x', '6 /x'],
    ['/%61pi/x', '6 /x'],
    ['/%61%70%69/x', '6 /x'],
    ['//api/x', '6 /x'],
    ['/.//api//x', '6 /x'],
    ['/y/..//api/x', '6 /x'],
    ['/y/%2E%2e/%2E/api/x', '6 /x'],
    ['\\api\\x', '6 /x'],
    ['http://b.example//%61pi/x', '6 /x'],
    ['/%C3%A4%20b/x', '5 /x'],
    ['/%c3%a4%20b/x', '5 /x'],
    ['/ä b/x', '5 /x'],
  ])('%s leads to its route', (target, expected) => {
    expect(findTarget(target.replace(/^\\/, '/'))).toBe(expected);
  });

  it.each(['/api%2Fx', '/api%5cx', '/y/..%2fapi/x', '/y%2f../api/x', '/y%5c..%5capi', '/api/..%2fy', '/%2fapi/x'])(
    '%s is refused: it may mean another route',
    (target) => {
      expect(findTarget(target)).toBe('ambiguous');
    },
  );

  it.each([
    ['/api/a%2Fb', '6 /a%2Fb'],
    ['/api/a%2fb%5Cc', '6 /a%2Fb%5Cc'],
    ['/y/a%2fb', '7 /y/a%2Fb'],
    ['/api%252Fx', '7 /api%252Fx'],
  ])('%s keeps its encoded slash: it means one route', (target, expected) => {
    expect(findTarget(target)).toBe(expected);
  });

  it('is the same when it is spelt again', () => {
    const alphabet = ['/', '//', '.', '..', '%2e', '%2F', '%5c', 'a', '%61', '%7E', '%25', '%3f', 'ä', '\\', ';'];
    let seed = 20260722;
    const random = (below: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) % below;
    for (let round = 0; round < 5_000; round += 1) {
      const target = `/${Array.from({ length: random(12) }, () => alphabet[random(alphabet.length)]).join('')}`;
      const once = parseRequestTarget(target)!;
      const twice = parseRequestTarget(once.routed)!;
      expect([target, twice.routed, twice.pathname]).toEqual([target, once.routed, once.routed]);
      expect(once.routed).not.toMatch(/\/\/|\/\.{1,2}(?:\/|$)|%(?:2e|61|7e)/i);
      expect(parseRequestTarget(once.pathname)!.pathname).toBe(once.pathname);
    }
  });
});

describe('a request target', () => {
  it.each([
    ['/a/../b?c=1', '/b', '?c=1', undefined],
    ['/a/%2e%2e/b', '/b', '', undefined],
    ['//evil.example/x', '/evil.example/x', '', undefined],
    ['/plain/x;y=1?a=%2F', '/plain/x;y=1', '?a=%2F', undefined],
    ['/?', '/', '', undefined],
    ['/%7Euser/%e4', '/~user/%E4', '', undefined],
    ['/a\\b', '/a/b', '', undefined],
    ['/../../etc', '/etc', '', undefined],
    ['http://other.example/x?y', '/x', '?y', 'other.example'],
  ])('%s', (target, pathname, search, authority) => {
    expect(parseRequestTarget(target)).toEqual({ pathname, routed: pathname, search, authority });
  });

  it('keeps double slashes for the next server, and is looked up without them', () => {
    expect(parseRequestTarget('/proxy/https://a.example/b')).toMatchObject({
      pathname: '/proxy/https://a.example/b',
      routed: '/proxy/https:/a.example/b',
    });
  });

  it.each(['*', 'example.com:443', '', 'ftp://a/b', '/a%00b'])('%s is none', (target) => {
    expect(parseRequestTarget(target)).toBeUndefined();
  });
});
