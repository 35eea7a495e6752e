import { pageResources } from '../build/fixtures.js';
import type { PageResource } from '../table/page_table.js';

/** The published ones. */
export const PAGES = ['google', 'youtube', 'amazon'] as const;
/** With those of today's shape. */
export const ALL_PAGES = [...PAGES, 'news', 'shop', 'application'] as const;
export type PageName = (typeof ALL_PAGES)[number];

export interface SimulatedResource extends PageResource {
  /** A page cannot be shown before it is there. */
  readonly critical: boolean;
}

export interface Page {
  name: PageName;
  resources: SimulatedResource[];
  bytes: number;
}

/** A page of fixtures/pages. @throws UserError outside of the repository */
export async function readPage(name: PageName): Promise<Page> {
  const resources = await pageResources(name);
  return {
    name,
    resources: resources.map((resource) => ({ ...resource, critical: isCritical(resource) })),
    bytes: resources.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** When the last critical resource was there, given when each resource was, in their order. */
export function criticalTime({ resources }: Pick<Page, 'resources'>): (doneMs: readonly number[]) => number {
  const critical = resources.flatMap((resource, index) => (resource.critical ? [index] : []));
  return (doneMs) => Math.max(...critical.map((index) => doneMs[index] ?? 0));
}

/** HTML, style sheets of the page, and the scripts for which its parser waits. */
function isCritical({ class: kind, load }: PageResource): boolean {
  return kind === 'html' || load === 'style' || load === 'script' || load === 'late';
}
