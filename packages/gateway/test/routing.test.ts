import { describe, expect, it } from 'vitest';
import { parseGateway } from './support/configuration.js';
import { parseRequestTarget } from '../src/http/request_target.js';
import { compileRoute, findRoute } from '../src/routing/router.js';

const { node } = parseGateway(
  `
listen: 127.0.0.1:0
routes:
  - { host: api.example, path: /v1, methods: [GET, POST], files: . }
  - { host: "*.wild.example", files: . }
  - { path: /only, methods: PUT, files: . }
  - { path: /slash/, files: . }
  - { host: [a.example, "[::1]"], path: /deep/er, files: . }
`,
  'sheaf.yaml',
);
const routes = node.routes.map((route, index) => compileRoute(route, index, index));

function find(method: string, host: string, pathname: string): string {
  const match = findRoute(routes, { method, host, pathname });
  return match.found ? `${match.route.answer} ${match.rest}` : `none ${match.allow.join(',')}`;
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

describe('a request target', () => {
  it.each([
    ['/a/../b?c=1', '/b', '?c=1', undefined],
    ['/a/%2e%2e/b', '/b', '', undefined],
    ['//evil.example/x', '//evil.example/x', '', undefined],
    ['/a\\b', '/a/b', '', undefined],
    ['/../../etc', '/etc', '', undefined],
    ['http://other.example/x?y', '/x', '?y', 'other.example'],
  ])('%s', (target, pathname, search, authority) => {
    expect(parseRequestTarget(target)).toEqual({ pathname, search, authority });
  });

  it.each(['*', 'example.com:443', '', 'ftp://a/b'])('%s is none', (target) => {
    expect(parseRequestTarget(target)).toBeUndefined();
  });
});
