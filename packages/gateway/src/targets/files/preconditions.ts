import type { Stats } from 'node:fs';
import { headerValue, type RequestHeaders } from '../../http/exchange.js';

/** What tells two states of a file apart (RFC 9110 §8.8). */
export interface Validators {
  /** With quotes, and with `W/` while it is weak. */
  etag: string;
  /** HTTP date. */
  lastModified: string;
}

/** A file that was written this short a time ago may change again without its time telling. */
const settledMs = 2_000;

/**
 * Size and time of modification, which are the same on every machine that holds a copy. The tag is
 * weak until the file has settled (RFC 9110 §8.8.1: a strong one must change with the content).
 * `coding` sets precompressed forms apart, which are other representations.
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

/** Of files that are kept in memory, whose state is the same object for each request. */
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

/** The conditions of a GET or HEAD request, in the order of RFC 9110 §13.2.2. */
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
 * RFC 9110 §13.1.5: whether a range may be answered; a client that holds a part of another state
 * needs the whole file. A date has to be the very same one.
 */
export function isRangeCurrent(headers: RequestHeaders, { etag, lastModified }: Validators): boolean {
  const ifRange = headerValue(headers, 'if-range')?.trim();
  if (ifRange === undefined) return true;
  if (ifRange.includes('"')) return areStrongMatch(ifRange, etag);
  return !etag.startsWith('W/') && Date.parse(ifRange) === Date.parse(lastModified);
}

/** RFC 9110 §8.8.3.2 */
function areStrongMatch(left: string, right: string): boolean {
  return left === right && !left.startsWith('W/');
}

function areWeakMatch(left: string, right: string): boolean {
  return left.replace(/^W\//, '') === right.replace(/^W\//, '');
}

/** `*`, or a list of entity tags; commas within a tag are part of it. */
function matchesList(list: string, etag: string, matches: (left: string, right: string) => boolean): boolean {
  if (list.trim() === '*') return true;
  return (list.match(/(?:W\/)?"[^"]*"/g) ?? []).some((tag) => matches(tag, etag));
}

/** Undefined when the header is absent or no date: then it is ignored. */
function dateOf(headers: RequestHeaders, name: string): number | undefined {
  const date = Date.parse(headerValue(headers, name) ?? '');
  return Number.isNaN(date) ? undefined : date;
}
