import type { Dependency, StreamPriority } from '../protocol/index.js';
import { ExclusiveChain } from './exclusive_chain.js';
import type { Resource } from './resource.js';
import {
  CHROME_LEVELS,
  CHROME_LEVEL_WEIGHTS,
  FIREFOX_GROUPS,
  FIREFOX_PARENTS,
  FIREFOX_URGENCIES,
  FIREFOX_WEIGHTS,
  SAFARI_WEIGHTS,
  extensibleIncremental,
  extensibleUrgency,
  type Group,
} from './style_tables.js';

/** Browsers whose order of a page's resources can be followed */
export const STYLE_NAMES = ['extensible', 'safari', 'firefox', 'chrome', 'chrome-chain'] as const;
export type StyleName = (typeof STYLE_NAMES)[number];

/** What Chromium itself does over HTTP/3, except for frames */
export const DEFAULT_STYLE: StyleName = 'extensible';

export function isStyleName(text: unknown): text is StyleName {
  return (STYLE_NAMES as readonly unknown[]).includes(text);
}

/** First node of streams; lower ones are the groups of styles */
export const FIRST_STREAM_NODE = 16;

/** Gives priorities to the requests of one page load, in the order in which they are made. */
export interface Prioritizer {
  /**
   * Returns the priority of a request. `node` is at least {@link FIRST_STREAM_NODE}, and has not been used in this
   * session, or its stream has ended.
   */
  assign(resource: Resource, node: number): StreamPriority;
  /** Notes that the stream of this node has ended. No stream is put below it any more. */
  release(node: number): void;
}

export function createPrioritizer(style: StyleName): Prioritizer {
  switch (style) {
    case 'extensible':
      return stateless((resource) => ({
        urgency: extensibleUrgency(resource),
        incremental: extensibleIncremental(resource.class),
      }));
    case 'safari':
      return stateless(({ class: kind }, node) => ({
        urgency: 3,
        incremental: true,
        dependency: dependency({ node, parent: 0, wireWeight: SAFARI_WEIGHTS[kind] }),
      }));
    case 'firefox':
      return stateless(firefox);
    case 'chrome':
      return stateless(({ class: kind }, node) => ({
        urgency: CHROME_LEVELS[kind],
        incremental: true,
        dependency: dependency({ node, parent: 0, wireWeight: chromeWeight(CHROME_LEVELS[kind]) }),
      }));
    case 'chrome-chain':
      return chromeChain();
  }
}

function firefox({ class: kind }: Resource, node: number): StreamPriority {
  const parent = FIREFOX_PARENTS[kind];
  const groups: Dependency[] = [];
  for (let group: Group | undefined = FIREFOX_GROUPS[parent]; group; group = groupOf(group.parent)) {
    groups.push(dependency(group));
  }
  return {
    urgency: FIREFOX_URGENCIES[parent],
    incremental: true,
    dependency: dependency({ node, parent, wireWeight: FIREFOX_WEIGHTS[kind] }),
    groups,
  };
}

/** Puts each stream below the youngest one that is at least as important, and above all less important ones. */
function chromeChain(): Prioritizer {
  const chain = new ExclusiveChain(CHROME_LEVEL_WEIGHTS.length);
  return {
    assign({ class: kind }, node) {
      const level = CHROME_LEVELS[kind];
      const parent = chain.add(node, level);
      const own = { node, parent, wireWeight: chromeWeight(level) };
      return { urgency: level, incremental: false, dependency: { ...dependency(own), exclusive: true } };
    },
    release: (node) => chain.remove(node),
  };
}

function stateless(assign: Prioritizer['assign']): Prioritizer {
  return { assign, release: () => undefined };
}

function groupOf(node: number): Group | undefined {
  return (FIREFOX_GROUPS as Readonly<Record<number, Group>>)[node];
}

function chromeWeight(level: number): number {
  return CHROME_LEVEL_WEIGHTS[level] ?? 0;
}

function dependency({ node, parent, wireWeight }: Group): Dependency {
  return { node, parent, weight: wireWeight + 1, exclusive: false };
}
