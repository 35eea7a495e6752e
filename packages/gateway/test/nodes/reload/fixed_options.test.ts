import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parseConfiguration } from '../../../src/configuration/load.js';
import { UserError } from '../../../src/errors/user_error.js';
import { changesOf } from '../../../src/nodes/reload/changes.js';
import { changeableOptions, refuseFixed } from '../../../src/nodes/reload/fixed_options.js';
import type { LoadedNode } from '../../../src/schema/loaded.js';

const nodesOf = (text: string): readonly LoadedNode[] => parseConfiguration(text, '/site/sheaf.yaml').nodes;
const gateway = (routes: string, more = ''): string => `listen: 127.0.0.1:4433\nroutes: ${routes}\n${more}`;

/** Two gateways with one backend that may send from the address of the gateway */
const returning = (delivery: string, more = ''): string => `
nodes:
  site:
    role: gateway
    listen: 127.0.0.1:4433
    backbone: 127.0.0.1:4533
    backends: [one]
    routes: [{ path: /one, backends: [one], delivery: ${delivery} }, { files: . }]
    ${more}
  one:
    role: backend
    listen: 127.0.0.1:4434
    backbone: 127.0.0.1:4534
    primary: site
    return: { from: "127.0.0.1:4433", via: own-address }
    routes: [{ files: . }]
`;

const live = (route: string): string => gateway(`[${route}]`, 'channels: { live: { rate: 100KB } }\n');

function refusalOf(before: string, after: string): string {
  try {
    refuseFixed(nodesOf(before), nodesOf(after));
    return '';
  } catch (error) {
    if (error instanceof UserError && error.code === 'RELOAD_NEEDS_RESTART') return error.message;
    throw error;
  }
}

describe('what is fixed while a node runs', () => {
  it.each([
    [
      'the same value in another form',
      gateway('[{ files: . }]', 'limits: { idle: 30s }'),
      gateway('[{ files: ./ }]'),
      '',
    ],
    [
      'a route by which a backend begins to send from the address of its gateway',
      returning('[path, proxy]'),
      returning('[path, return, proxy]'),
      'a reload cannot change `routes` of `site`',
    ],
    [
      'a route by which it does so, and no longer in another way',
      returning('[path, return, proxy]'),
      returning('[return, proxy]'),
      '',
    ],
    [
      'the address of a gateway with backends',
      returning('path').replace(/return: .*/, ''),
      returning('path')
        .replace(/return: .*/, '')
        .replace('4433', '4435'),
      'a reload cannot change `listen` of `site`',
    ],
    [
      'media that a channel carries',
      live('{ path: /live, media: { channel: live } }'),
      live('{ path: /live, media: { channel: live, history: 20s } }'),
      'a reload cannot change `routes` of `gateway`',
    ],
    ['media that none carries', live('{ media: {} }'), live('{ media: { history: 20s } }'), ''],
    [
      'a node more',
      returning('path'),
      `${returning('path')}  laptop: { role: edge, listen: "127.0.0.1:1", gateway: site }`,
      'a reload cannot add the node `laptop`',
    ],
  ])('%s', (_what, before, after, message) => {
    expect(refusalOf(before, after)).toBe(message);
  });

  it('is everything that docs/reference/configuration.md does not name as changeable', async () => {
    const text = await readFile(new URL('../../../../../docs/reference/configuration.md', import.meta.url), 'utf8');
    const table = text
      .slice(text.indexOf('## Reload'))
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const named = table.flatMap((line) => [...line.split('|')[1]!.matchAll(/`([a-z_.]+)`/g)].map(([, key]) => key));
    expect(named.sort()).toEqual([...changeableOptions].sort());
  });
});

describe('changes', () => {
  const between = (before: string, after: string) =>
    changesOf(nodesOf(before)[0]!, nodesOf(after)[0]!).map(({ option, change, name }) => [option, change, name]);

  it('name routes by what they match, and limits one by one', () => {
    expect(
      between(
        gateway('[{ path: /a, files: . }, { path: /b, host: b.example, files: . }]', 'limits: { drain: 5s }'),
        gateway('[{ path: /a, files: ./x }, { path: /c, methods: [GET], files: . }]', 'http: 127.0.0.1:80'),
      ),
    ).toEqual([
      ['routes', 'changed', '/a'],
      ['routes', 'removed', 'b.example/b'],
      ['routes', 'added', 'GET /c'],
      ['limits.drain', 'changed', undefined],
      ['http', 'added', undefined],
    ]);
  });

  it('tell that the order of routes is another one', () => {
    const routes = ['{ path: /a, files: . }', '{ path: /b, files: . }'];
    const [before, after] = [gateway(`[${routes.join()}]`), gateway(`[${routes.reverse().join()}]`)];
    expect(between(before, after)).toEqual([['routes', 'changed', undefined]]);
    expect(between(before, before)).toEqual([]);
  });
});
