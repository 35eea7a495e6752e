import { z } from 'zod';
import type { LevelName } from './network.js';
import type { PageName } from './page.js';
import type { TreeName } from './priority_trees.js';

const milliseconds = z.number().min(0);

/** A line of pages_bench: one run. Lists of times are in the order of the resources. */
export const runSchema = z.object({
  seed: z.number().int(),
  /** Digest of all datagrams with their times, equal for equal runs */
  digest: z.string(),
  /** Rates that this run drew, by link */
  rates_mbps: z.array(z.number()),
  clients: z
    .array(
      z.object({
        plt_ms: milliseconds,
        byte_index_ms: milliseconds,
        first_ms: z.array(milliseconds),
        done_ms: z.array(milliseconds),
        /** What the server sent, by path, from the beginning of the connection */
        paths: z.array(z.object({ bytes: z.number(), packets: z.number(), lost: z.number() })),
      }),
    )
    .min(1),
});
export type Run = z.output<typeof runSchema>;

/** One combination to measure: a page, the style of its priorities, a network and a scheduler */
export interface CellKey<Tree extends string = TreeName> {
  page: PageName;
  tree: Tree;
  level: LevelName;
  scheduler: string;
}

export const cellName = ({ page, tree, level, scheduler }: CellKey<string>): string =>
  [page, tree, level, scheduler].join('/');
