import { describe, expect, test } from 'vitest';
import {
  STYLE_NAMES,
  classOfDestination,
  createPrioritizer,
  type Placement,
  type Resource,
  type ResourceClass,
} from '../src/priority/index.js';
import { decodePriority, encodePriority } from '../src/protocol/index.js';

const classes = ['html', 'css', 'javascript', 'image', 'font', 'xhr', 'other'] as const;

function resource(
  kind: ResourceClass,
  placement: Placement = 'elsewhere',
  fetchPriority: Resource['fetchPriority'] = 'auto',
): Resource {
  return { class: kind, placement, fetchPriority };
}

describe('the published trees', () => {
  // The weights that count, which are one above the wire's.
  test.each([
    ['html', 256],
    ['css', 24],
    ['javascript', 16],
    ['image', 8],
    ['font', 16],
    ['xhr', 16],
    ['other', 16],
  ] as const)('Safari: %s has %i on the root', (kind, weight) => {
    const { dependency, groups } = createPrioritizer('safari').assign(resource(kind), 20);
    expect(dependency).toEqual({ node: 20, parent: 0, weight, exclusive: false });
    expect(groups).toBeUndefined();
  });

  const leaders = { node: 5, parent: 0, weight: 241, exclusive: false };
  const followers = { node: 7, parent: 0, weight: 201, exclusive: false };
  const others = { node: 9, parent: 0, weight: 101, exclusive: false };
  const background = [{ node: 11, parent: 7, weight: 2, exclusive: false }, followers];
  test.each([
    ['html', 5, 255, [leaders]],
    ['css', 7, 32, [followers]],
    ['javascript', 7, 32, [followers]],
    ['image', 11, 42, background],
    ['font', 11, 22, background],
    ['xhr', 9, 32, [others]],
    ['other', 9, 32, [others]],
  ] as const)('Firefox: %s is below group %i with %i', (kind, parent, weight, groups) => {
    const priority = createPrioritizer('firefox').assign(resource(kind), 21);
    expect(priority.dependency).toEqual({ node: 21, parent, weight, exclusive: false });
    expect(priority.groups).toEqual(groups);
  });

  test.each([
    ['html', 256],
    ['css', 256],
    ['javascript', 183],
    ['image', 147],
    ['font', 256],
    ['xhr', 220],
    ['other', 110],
  ] as const)('Chrome: %s has %i on the root', (kind, weight) => {
    const { dependency } = createPrioritizer('chrome').assign(resource(kind), 22);
    expect(dependency).toEqual({ node: 22, parent: 0, weight, exclusive: false });
  });
});

describe('the exclusive chain of Chrome', () => {
  test('keeps levels in order, and ages within a level', () => {
    const chain = createPrioritizer('chrome-chain');
    const parent = (kind: ResourceClass, node: number): number | undefined => {
      const { dependency } = chain.assign(resource(kind), node);
      expect(dependency?.exclusive).toBe(true);
      return dependency?.parent;
    };
    // Line after each: 16 | 16 17 | 16 17 18 | 16 19 17 18 | 16 19 20 17 18 | 16 19 20 17 21 18
    expect(parent('html', 16)).toBe(0);
    expect(parent('javascript', 17)).toBe(16);
    expect(parent('image', 18)).toBe(17);
    expect(parent('css', 19)).toBe(16);
    expect(parent('xhr', 20)).toBe(19);
    expect(parent('javascript', 21)).toBe(17);
    chain.release(21);
    chain.release(17);
    // 16 19 20 18
    expect(parent('javascript', 22)).toBe(20);
    expect(parent('image', 23)).toBe(18);
    for (const node of [16, 18, 19, 20, 22, 23]) chain.release(node);
    expect(parent('image', 24)).toBe(0);
  });
});

describe('RFC 9218 as Chromium uses it', () => {
  test.each([
    ['html', 'elsewhere', 'auto', 0, true],
    ['css', 'blocking', 'auto', 0, false],
    ['css', 'deferred', 'auto', 4, false],
    ['css', 'blocking', 'low', 1, false],
    ['javascript', 'blocking', 'auto', 1, false],
    ['javascript', 'preload', 'auto', 1, false],
    ['javascript', 'late', 'auto', 2, false],
    ['javascript', 'deferred', 'auto', 3, false],
    ['javascript', 'deferred', 'high', 1, false],
    ['javascript', 'prefetch', 'auto', 4, false],
    ['image', 'early', 'auto', 2, true],
    ['image', 'elsewhere', 'auto', 3, true],
    ['image', 'lazy', 'auto', 3, true],
    ['image', 'early', 'high', 1, true],
    ['image', 'early', 'low', 3, true],
    ['font', 'elsewhere', 'auto', 0, false],
    ['font', 'preload', 'auto', 1, false],
    ['xhr', 'elsewhere', 'auto', 1, true],
    ['other', 'elsewhere', 'auto', 4, true],
  ] as const)('%s, %s, hinted %s: u=%i', (kind, placement, fetchPriority, urgency, incremental) => {
    const priority = createPrioritizer('extensible').assign(resource(kind, placement, fetchPriority), 16);
    expect(priority).toEqual({ urgency, incremental });
  });
});

test.each(STYLE_NAMES)('everything that the style %s says can be sent', (style) => {
  const prioritizer = createPrioritizer(style);
  for (const [index, kind] of classes.entries()) {
    const priority = prioritizer.assign(resource(kind), 16 + index);
    expect(decodePriority(encodePriority(priority))).toEqual(priority);
  }
});

test.each([
  ['document', 'html'],
  ['iframe', 'html'],
  ['style', 'css'],
  ['script', 'javascript'],
  ['image', 'image'],
  ['font', 'font'],
  ['', 'xhr'],
  ['video', 'other'],
  ['manifest', 'other'],
])('destination %j is of class %s', (destination, kind) => {
  expect(classOfDestination(destination)).toBe(kind);
});
