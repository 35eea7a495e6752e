/** Maximum of members (Trace Context §3.3.1.1) */
const maxMembers = 32;
/** Octets that every participant passes on (Trace Context §3.3.1.5). Nothing above them is. */
const maxOctets = 512;
/** Maximum of octets that are read at all */
const maxReadOctets = 8_192;

/** A key, of one vendor or of a tenant of a vendor, and a value that does not end in a space (Trace Context §3.3.1.3) */
const member =
  /^(?:[a-z][a-z\d_\-*/]{0,255}|[a-z\d][a-z\d_\-*/]{0,240}@[a-z][a-z\d_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * Returns the first members of a `tracestate` that fit into the bounds; undefined when there are none, or when a member is not
 * permitted.
 */
export function boundedTraceState(field: string): string | undefined {
  if (field.length > maxReadOctets) return undefined;
  const members = field
    .split(',')
    .map((text) => text.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((text) => text !== '');
  const keys = new Set(members.map((text) => text.slice(0, text.indexOf('='))));
  if (keys.size < members.length || !members.every((text) => member.test(text))) return undefined;
  let kept = '';
  for (const text of members.slice(0, maxMembers)) {
    const longer = kept === '' ? text : `${kept},${text}`;
    if (longer.length > maxOctets) break;
    kept = longer;
  }
  return kept === '' ? undefined : kept;
}
