import { pageResources } from '../build/fixtures.js';
import type { PageResource } from '../table/page_table.js';

/** The published pages */
export const PAGES = ['google', 'youtube', 'amazon'] as const;
/** The published pages, and pages as they are today */
export const ALL_PAGES = [...PAGES, 'news', 'shop', 'application'] as const;
export type PageName = (typeof ALL_PAGES)[number];

export interface SimulatedResource extends PageResource {
  /** Whether the page cannot be shown before this resource is complete */
  readonly critical: boolean;
}

export interface Page {
  name: PageName;
  resources: SimulatedResource[];
  bytes: number;
}

/** Reads a page of fixtures/pages. @throws UserError outside of the repository */
export async function readPage(name: PageName): Promise<Page> {
  const resources = await pageResources(name);
  return {
    name,
    resources: resources.map((resource) => ({ ...resource, critical: isCritical(resource) })),
    bytes: resources.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/**
 * Returns a function that computes when the last critical resource was complete, from the times of all resources in
 * order.
 */
export function criticalTime({ resources }: Pick<Page, 'resources'>): (doneMs: readonly number[]) => number {
  const critical = resources.flatMap((resource, index) => (resource.critical ? [index] : []));
  return (doneMs) => Math.max(...critical.map((index) => doneMs[index] ?? 0));
}

/** Returns whether a resource is critical: HTML, style sheets of the page, and scripts for which its parser waits. */
function isCritical({ class: kind, load }: PageResource): boolean {
  return kind === 'html' || load === 'style' || load === 'script' || load === 'late';
}
