import { describe, expect, test } from 'vitest';
import { PAGES, readPage, type PageName } from '../../../src/pages/simulation/page.js';
import { describeSetting } from '../../../src/pages/simulation/page_setting.js';
import { networkAt } from '../../../src/pages/simulation/network.js';
import { priorityTree } from '../../../src/pages/simulation/priority_trees.js';

/** Published: resources, bytes, and the sums of the wire weights in the three styles. */
const PUBLISHED = {
  google: [
    15,
    1_639_215,
    { safari: 10 * 255 + 3 * 15 + 2 * 7, firefox: 10 * 254 + 3 * 31 + 2 * 41, chrome: 10 * 255 + 3 * 109 + 2 * 146 },
  ],
  youtube: [
    51,
    1_609_657,
    { safari: 255 + 9 * 23 + 2 * 15 + 39 * 7, firefox: 254 + 11 * 31 + 39 * 41, chrome: 10 * 255 + 2 * 109 + 39 * 146 },
  ],
  amazon: [
    25,
    4_983_933,
    { safari: 255 + 4 * 23 + 15 + 19 * 7, firefox: 254 + 5 * 31 + 19 * 41, chrome: 5 * 255 + 109 + 19 * 146 },
  ],
} as const;

describe.each(PAGES)('the page %s', (name) => {
  const [count, bytes, weights] = PUBLISHED[name];

  test('has the published sizes and weights', async () => {
    const page = await readPage(name);
    expect([page.resources.length, page.bytes]).toEqual([count, bytes]);
    for (const style of ['safari', 'firefox', 'chrome'] as const) {
      const { requests } = priorityTree(style, page.resources);
      expect(
        requests.reduce((sum, { dependency }) => sum + dependency.weight - 1, 0),
        style,
      ).toBe(weights[style]);
    }
  });
});

test('Firefox has groups, the others have none', async () => {
  const { resources } = await readPage('google');
  const { groups, requests } = priorityTree('firefox', resources);
  expect(groups.map(({ node, parent, weight }) => [node, parent, weight])).toEqual([
    [5, 0, 241],
    [7, 0, 201],
    [9, 0, 101],
    [11, 7, 2],
  ]);
  expect(requests.map(({ dependency }) => dependency.parent)).toContain(11);
  expect(priorityTree('safari', resources).groups).toEqual([]);
});

test('critical are HTML, style sheets and the scripts for which the parser waits', async () => {
  const critical = async (name: PageName) =>
    (await readPage(name)).resources.flatMap((resource) => (resource.critical ? [resource.path] : []));
  expect(await critical('amazon')).toEqual(['index.html', 'css/style.css', 'js/app.js']);
  expect(await critical('google')).toHaveLength(10);
  expect(await critical('shop')).toEqual(['index.html', 'styles/critical.css', 'styles/catalogue.css']);
});

test('a setting is told to the program line by line', async () => {
  const page = await readPage('amazon');
  const text = describeSetting({
    page,
    tree: priorityTree('firefox', page.resources),
    network: networkAt('high'),
    scheduler: { name: 'rr', paths: 'min-rtt', kind: 'published' },
  });
  const lines = text.trimEnd().split('\n');
  expect(lines.slice(0, 5)).toEqual([
    'schedulers rr min-rtt 0 olia',
    'server 300',
    'link 30 35 10 0.8 0.015 0.5 0.75 1350000 0',
    'link 55 60 15 2.4 0.03 0.5 0.75 1350000 0',
    'warm 4 2619',
  ]);
  expect(lines).toContain('group 11 7 2');
  expect(lines.filter((line) => line.startsWith('resource '))).toHaveLength(25);
});

test("the levels with netem's arithmetic have the rates and delays of the others", () => {
  expect(networkAt('high-netem')).toEqual({ ...networkAt('high'), netem: true });
  expect(networkAt('medium-netem')).toEqual({ ...networkAt('medium'), netem: true });
});
