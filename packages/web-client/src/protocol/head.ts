import { MAX_PRIORITY_BYTES, type StreamPriority } from './priority.js';

/** Version in front of every head */
export const PROTOCOL_VERSION = 1;

/** One header: its name in lower case, and its value without surrounding white space */
export type HeaderField = readonly [name: string, value: string];

/**
 * What the requester knows of the visitor's cookies and HTTP authentication, which a page session never carries: the
 * request does not want them (`omitted`), the visitor seems to have none (`none`), or has some (`withheld`).
 */
export type Credentials = 'omitted' | 'none' | 'withheld';

/** Head of a request, before the body */
export interface RequestHead {
  readonly method: string;
  /** Absolute `http:` or `https:` URL without fragment and credentials */
  readonly url: string;
  /** `Request.destination` of the Fetch standard (`document`, `style`, …); empty for fetch() */
  readonly destination: string;
  readonly priority: StreamPriority;
  readonly credentials: Credentials;
  readonly headers: readonly HeaderField[];
}

/** Head of a response, before the body */
export interface ResponseHead {
  /** Final status, 200 to 599; interim responses are not carried */
  readonly status: number;
  readonly headers: readonly HeaderField[];
}

/** Maximum sizes, in bytes unless the name says otherwise, the same on both sides */
export const LIMITS = {
  /** A whole head. Common servers accept 8 to 64 KiB of headers. */
  head: 65_536,
  method: 32,
  url: 16_384,
  destination: 32,
  priority: MAX_PRIORITY_BYTES,
  headerName: 256,
  headerValue: 32_768,
  headerCount: 256,
} as const;

/** Types of fields in a head. Unknown ones are skipped, so that a version can grow. */
export const FIELD = {
  method: 0x01,
  url: 0x02,
  destination: 0x03,
  priority: 0x04,
  header: 0x05,
  status: 0x06,
  credentials: 0x07,
} as const;
