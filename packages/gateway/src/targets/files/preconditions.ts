import type { Stats } from 'node:fs';
import { headerValue, type RequestHeaders } from '../../http/exchange.js';

/** Validators that distinguish two states of a file (RFC 9110 §8.8) */
export interface Validators {
  /** Entity tag in quotes, with `W/` while it is weak */
  etag: string;
  /** Time of modification as an HTTP date */
  lastModified: string;
}

/** Age in milliseconds below which a file may change again without a new time of modification */
const settledMs = 2_000;

/**
 * Returns validators made of size and time of modification, which are the same on every machine with a copy. The tag is
 * weak until the file has settled, since a strong tag must change with the content (RFC 9110 §8.8.1). `coding`
 * distinguishes precompressed forms, which are other representations.
 */
export function validatorsOf(stats: Stats, coding: string | undefined, now: number): Validators {
  const { opaque, lastModified } = described(stats);
  return {
    etag: `${now - stats.mtimeMs < settledMs ? 'W/' : ''}"${opaque}${coding === undefined ? '' : `-${coding}`}"`,
    lastModified,
  };
}

interface Description {
  opaque: string;
  lastModified: string;
}

/** Descriptions of files in memory, whose state is the same object for each request */
const descriptions = new WeakMap<Stats, Description>();

function described(stats: Stats): Description {
  const known = descriptions.get(stats);
  if (known) return known;
  const made = {
    opaque: `${stats.size.toString(16)}-${Math.trunc(stats.mtimeMs * 1_000).toString(16)}`,
    lastModified: stats.mtime.toUTCString(),
  };
  descriptions.set(stats, made);
  return made;
}

export type Verdict = 'proceed' | 'not_modified' | 'failed';

/** Evaluates the conditions of a GET or HEAD request in the order of RFC 9110 §13.2.2. */
export function evaluatePreconditions(headers: RequestHeaders, validators: Validators): Verdict {
  const ifMatch = headerValue(headers, 'if-match');
  if (ifMatch !== undefined) {
    if (!matchesList(ifMatch, validators.etag, areStrongMatch)) return 'failed';
  } else {
    const unmodifiedSince = dateOf(headers, 'if-unmodified-since');
    if (unmodifiedSince !== undefined && Date.parse(validators.lastModified) > unmodifiedSince) return 'failed';
  }
  const ifNoneMatch = headerValue(headers, 'if-none-match');
  if (ifNoneMatch !== undefined)
    return matchesList(ifNoneMatch, validators.etag, areWeakMatch) ? 'not_modified' : 'proceed';
  const modifiedSince = dateOf(headers, 'if-modified-since');
  return modifiedSince !== undefined && Date.parse(validators.lastModified) <= modifiedSince
    ? 'not_modified'
    : 'proceed';
}

/**
 * Returns whether a range may be sent (RFC 9110 §13.1.5). A client with a part of another state needs the whole file. A
 * date must be exactly the same.
 */
export function isRangeCurrent(headers: RequestHeaders, { etag, lastModified }: Validators): boolean {
  const ifRange = headerValue(headers, 'if-range')?.trim();
  if (ifRange === undefined) return true;
  if (ifRange.includes('"')) return areStrongMatch(ifRange, etag);
  return !etag.startsWith('W/') && Date.parse(ifRange) === Date.parse(lastModified);
}

/** Strong comparison (RFC 9110 §8.8.3.2) */
function areStrongMatch(left: string, right: string): boolean {
  return left === right && !left.startsWith('W/');
}

function areWeakMatch(left: string, right: string): boolean {
  return left.replace(/^W\//, '') === right.replace(/^W\//, '');
}

/** Matches `*`, or a list of entity tags. Commas within a tag belong to it. */
function matchesList(list: string, etag: string, matches: (left: string, right: string) => boolean): boolean {
  if (list.trim() === '*') return true;
  return (list.match(/(?:W\/)?"[^"]*"/g) ?? []).some((tag) => matches(tag, etag));
}

/** Returns undefined when the header is absent or no date, so that it is ignored. */
function dateOf(headers: RequestHeaders, name: string): number | undefined {
  const date = Date.parse(headerValue(headers, name) ?? '');
  return Number.isNaN(date) ? undefined : date;
}
