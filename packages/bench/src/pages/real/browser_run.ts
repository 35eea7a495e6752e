import type { StyleName } from '@sheaf/web-client/priority';
import { z } from 'zod';
import type { CellKey } from '../simulation/run_record.js';

const milliseconds = z.number().min(0);
/**
 * Times; null when the page did not request the resource, as for an image far below, and unknown for a censored load
 */
const times = z.array(milliseconds.nullable());

/** One page load. Times are since the navigation, and lists are in the order of the page's resources. */
export const browserRunSchema = z.object({
  /**
   * Seed of the links. Equal seeds have equal rates, and lose the packets with the same numbers, not the same bytes.
   */
  seed: z.number().int(),
  rates_mbps: z.array(z.number()),
  /** Load average of the last minute */
  machine_load: z.number(),
  /** Failures of the laboratory, after each of which the load was repeated */
  repeats: z.array(z.string()),
  /** Why the load did not end over the session within its limit. Its times are then the limit, which they exceed. */
  censored: z.string().optional(),
  fcp_ms: milliseconds,
  lcp_ms: milliseconds,
  /** What was painted: the URL of an image, or the name of an element with text */
  lcp_element: z.string(),
  /** Start of the load event */
  load_ms: milliseconds,
  /** When the page loader had the request, the head of the response and its last byte */
  requested_ms: times,
  first_ms: times,
  done_ms: times,
  /** Datagrams that the gateway sent over each link, from the beginning of the connection */
  links: z.array(z.object({ datagrams: z.number(), lost: z.number(), queue_full: z.number() })),
});
export type BrowserRun = z.output<typeof browserRunSchema>;

/** Key of a cell. Beside the trees there is the page loader's default, RFC 9218. */
export type BrowserCellKey = CellKey<StyleName>;
