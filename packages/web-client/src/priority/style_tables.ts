import type { Placement, Resource, ResourceClass } from './resource.js';

/** A group node of Firefox, which orders streams and carries no data itself */
export interface Group {
  readonly node: number;
  readonly parent: number;
  /** Weight as HTTP/2 sends it: one less than its value */
  readonly wireWeight: number;
}

type ByClass<Value> = Readonly<Record<ResourceClass, Value>>;

/** Wire weights of HTTP/2 (RFC 7540 §6.3). All streams depend on the root. */
export const SAFARI_WEIGHTS: ByClass<number> = {
  html: 255,
  css: 23,
  javascript: 15,
  image: 7,
  font: 15,
  xhr: 15,
  other: 15,
};

export const FIREFOX_WEIGHTS: ByClass<number> = {
  html: 254,
  css: 31,
  javascript: 31,
  image: 41,
  font: 21,
  xhr: 31,
  other: 31,
};

/** Node of the group of each class */
export const FIREFOX_PARENTS: ByClass<5 | 7 | 9 | 11> = {
  html: 5,
  css: 7,
  javascript: 7,
  image: 11,
  font: 11,
  xhr: 9,
  other: 9,
};

export const FIREFOX_GROUPS: Readonly<Record<5 | 7 | 9 | 11, Group>> = {
  5: { node: 5, parent: 0, wireWeight: 240 },
  7: { node: 7, parent: 0, wireWeight: 200 },
  9: { node: 9, parent: 0, wireWeight: 100 },
  11: { node: 11, parent: 7, wireWeight: 1 },
};

/** Urgencies for receivers without dependency trees, in the order of Firefox' groups */
export const FIREFOX_URGENCIES: Readonly<Record<5 | 7 | 9 | 11, number>> = { 5: 1, 7: 2, 9: 3, 11: 4 };

/** Chrome's level of each class, 0 first, which orders its exclusive chain */
export const CHROME_LEVELS: ByClass<number> = {
  html: 0,
  css: 0,
  font: 0,
  xhr: 1,
  javascript: 2,
  image: 3,
  other: 4,
};

/** Wire weights of Chrome's levels: 256 counted down to 1 over eight levels, of which pages use five */
export const CHROME_LEVEL_WEIGHTS: readonly number[] = [255, 219, 182, 146, 109];

/** Urgencies that Chromium sends over HTTP/3, by class, unless the placement matters */
const EXTENSIBLE_URGENCIES: ByClass<number> = {
  html: 0,
  css: 0,
  javascript: 3,
  image: 3,
  font: 0,
  xhr: 1,
  other: 4,
};

/**
 * Placements that change the urgency of a class. Those of frames are ours: to Chromium they are as urgent as the page
 * itself, so they delay its style sheets and the pictures that its visitor sees first.
 */
const EXTENSIBLE_PLACEMENTS: Partial<Record<ResourceClass, Partial<Record<Placement, number>>>> = {
  html: { framed: 3, lazy: 3 },
  css: { deferred: 4, prefetch: 4 },
  javascript: { blocking: 1, late: 2, preload: 1, prefetch: 4 },
  image: { early: 2, prefetch: 4 },
  font: { preload: 1, prefetch: 4 },
  xhr: { prefetch: 4 },
};

/** Urgencies beyond which a hint (`fetchpriority` of HTML) moves no resource */
const HINTED_HIGH = 1;
const HINTED_LOW = 3;

/** Returns the urgency that Chromium uses (RFC 9218), except for frames. */
export function extensibleUrgency({ class: kind, placement, fetchPriority }: Resource): number {
  const urgency = EXTENSIBLE_PLACEMENTS[kind]?.[placement] ?? EXTENSIBLE_URGENCIES[kind];
  switch (fetchPriority) {
    case 'auto':
      return urgency;
    case 'high':
      return Math.min(urgency, HINTED_HIGH);
    case 'low':
      // Style sheets that rendering waits for yield by only one step.
      return kind === 'css' && urgency === 0 ? HINTED_HIGH : Math.max(urgency, HINTED_LOW);
  }
}

/** Returns whether parts of the resource are useful, which is not so for what is parsed as a whole. */
export function extensibleIncremental(kind: ResourceClass): boolean {
  return kind === 'html' || kind === 'image' || kind === 'xhr' || kind === 'other';
}
