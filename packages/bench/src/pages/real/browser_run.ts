import type { StyleName } from '@sheaf/web-client/priority';
import { z } from 'zod';
import type { CellKey } from '../simulation/run_record.js';

const milliseconds = z.number().min(0);
/** null: the page did not ask for the resource, as for an image far below. */
const times = z.array(milliseconds.nullable());

/** One page load; times since the navigation, lists in the order of the page's resources. */
export const browserRunSchema = z.object({
  /** Of the links. Equal seeds have equal rates and lose equal packets, counted, not equal bytes. */
  seed: z.number().int(),
  rates_mbps: z.array(z.number()),
  /** Load average of the machine's last minute. */
  machine_load: z.number(),
  fcp_ms: milliseconds,
  lcp_ms: milliseconds,
  /** What was painted: the URL of an image, or the name of an element with text. */
  lcp_element: z.string(),
  /** Begin of the load event. */
  load_ms: milliseconds,
  requested_ms: times,
  first_ms: times,
  done_ms: times,
  /** What the gateway sent over each link, from the beginning of the connection. */
  links: z.array(z.object({ datagrams: z.number(), lost: z.number(), queue_full: z.number() })),
});
export type BrowserRun = z.output<typeof browserRunSchema>;

/** Beside the trees there is what the page loader says by default: RFC 9218. */
export type BrowserCellKey = CellKey<StyleName>;
