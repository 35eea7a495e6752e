import {
  DEFAULT_PRIORITY,
  MAX_PRIORITY_BYTES,
  decodePriority,
  encodePriority,
  type StreamPriority,
} from './priority.js';

/** Header of HTTP/3 requests that carries a {@link StreamPriority} as a byte sequence (RFC 8941 §3.3.5) */
export const PRIORITY_HEADER = 'sheaf-priority';

// Base64 and the two colons
const MAX_HEADER_LENGTH = Math.ceil(MAX_PRIORITY_BYTES / 3) * 4 + 2;

/** Formats the header's value. @throws ProtocolError for values that the format cannot express */
export function formatPriorityHeader(priority: StreamPriority): string {
  return `:${btoa(String.fromCharCode(...encodePriority(priority)))}:`;
}

/**
 * Parses the header's value; undefined for an absent value and for a malformed one, since a malformed hint is ignored.
 */
export function parsePriorityHeader(value: string | undefined): StreamPriority | undefined {
  if (value === undefined || value.length > MAX_HEADER_LENGTH || !/^:[A-Za-z0-9+/]*={0,2}:$/.test(value))
    return undefined;
  try {
    return decodePriority(Uint8Array.from(atob(value.slice(1, -1)), (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

/**
 * Parses urgency and incremental of a `priority` field (RFC 9218 §4). Values that cannot be parsed count as absent, as
 * §4 demands.
 */
export function parseUrgency(value: string | undefined): Pick<StreamPriority, 'urgency' | 'incremental'> {
  let { urgency, incremental } = DEFAULT_PRIORITY;
  // Limits the length, since no sensible list is longer.
  for (const member of (value ?? '').slice(0, 256).split(',')) {
    const match = /^(u|i)(?:=([^;]*))?(?:;.*)?$/.exec(member.trim());
    if (match?.[1] === 'u' && /^[0-7]$/.test(match[2] ?? '')) urgency = Number(match[2]);
    if (match?.[1] === 'i' && /^\?[01]$/.test(match[2] ?? '?1')) incremental = match[2] !== '?0';
  }
  return { urgency, incremental };
}
