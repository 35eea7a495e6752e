import type { Placement, Resource, ResourceClass } from './resource.js';

/** A group node of Firefox: orders streams and carries nothing itself. */
export interface Group {
  readonly node: number;
  readonly parent: number;
  /** As on the wire of HTTP/2: one less than what it counts. */
  readonly wireWeight: number;
}

type ByClass<Value> = Readonly<Record<ResourceClass, Value>>;

/** Wire weights of HTTP/2 (RFC 7540 §6.3); all streams on the root. */
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

/** Group by class, by its node. */
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

/** Urgency for receivers that know no trees: the order of Firefox' groups. */
export const FIREFOX_URGENCIES: Readonly<Record<5 | 7 | 9 | 11, number>> = { 5: 1, 7: 2, 9: 3, 11: 4 };

/** Chrome's level by class, 0 is first. Its exclusive chain is ordered by it. */
export const CHROME_LEVELS: ByClass<number> = {
  html: 0,
  css: 0,
  font: 0,
  xhr: 1,
  javascript: 2,
  image: 3,
  other: 4,
};

/** Wire weight by Chrome's level: 256 counted down to 1 over eight levels, of which pages use five. */
export const CHROME_LEVEL_WEIGHTS: readonly number[] = [255, 219, 182, 146, 109];

/** The urgencies that Chromium sends over HTTP/3, by class where the placement makes no difference. */
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
 * Placements that move a class. Frames are ours: for Chromium they are as urgent as the page itself,
 * and hold back its style sheets and the pictures that its visitor sees first.
 */
const EXTENSIBLE_PLACEMENTS: Partial<Record<ResourceClass, Partial<Record<Placement, number>>>> = {
  html: { framed: 3, lazy: 3 },
  css: { deferred: 4, prefetch: 4 },
  javascript: { blocking: 1, late: 2, preload: 1, prefetch: 4 },
  image: { early: 2, prefetch: 4 },
  font: { preload: 1, prefetch: 4 },
  xhr: { prefetch: 4 },
};

/** Neither is moved by a hint beyond these (`fetchpriority` of HTML). */
const HINTED_HIGH = 1;
const HINTED_LOW = 3;

/** RFC 9218 as Chromium uses it, but for frames. */
export function extensibleUrgency({ class: kind, placement, fetchPriority }: Resource): number {
  const urgency = EXTENSIBLE_PLACEMENTS[kind]?.[placement] ?? EXTENSIBLE_URGENCIES[kind];
  switch (fetchPriority) {
    case 'auto':
      return urgency;
    case 'high':
      return Math.min(urgency, HINTED_HIGH);
    case 'low':
      // The style sheets that rendering waits for yield by one step only.
      return kind === 'css' && urgency === 0 ? HINTED_HIGH : Math.max(urgency, HINTED_LOW);
  }
}

/** Whether parts of it are of use: not for what is parsed as a whole. */
export function extensibleIncremental(kind: ResourceClass): boolean {
  return kind === 'html' || kind === 'image' || kind === 'xhr' || kind === 'other';
}
