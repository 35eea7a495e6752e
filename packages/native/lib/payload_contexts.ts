/** Field by which client and proxy register contexts that tell ECN marks (draft-ietf-masque-connect-udp-ecn-dscp-02 §4.2) */
export const tunnelContextsHeader = 'ecn-dscp-context-id';

/** Most sets of ids of one side. The draft expects no more DSCPs (§3), and each set takes memory of a tunnel (§6.2). */
const mostContextSets = 8;

/** Context of reports (docs/reference/wire.md) */
const reportContext = 1;

/** A side of a request for UDP proxying; numbers are those of `PayloadContexts::Side` in src/tunnel_request/payload_contexts.h. */
const sides = { none: 0, proxy: 1, client: 2 } as const;
type Side = Exclude<keyof typeof sides, 'none'>;

/** What each side registers: a DSCP, and the ids of `PayloadContexts` for Not-ECT, ECT(1), ECT(0) and CE */
const ownFields: Record<Side, string> = { client: '(0 0 2 4 6)', proxy: '(0 0 3 5 7)' };

/** Returns the field that this side sends. */
export const contextsField = (own: Side): Record<string, string> => ({ [tunnelContextsHeader]: ownFields[own] });

/**
 * A set of ids (RFC 9651 §3.1.1), with parameters that do not matter, and the comma behind it. The draft's example has commas within
 * sets, too.
 */
const innerList = /[\t ]*\(([-\d ,]*)\)(?:;[^(),]*|[\t ]*)(?:,(?=[\t ]*\()|$)/y;
const integer = /^\d{1,15}$/;
const largestDscp = 63;
const idsOfSet = 4;

/**
 * Reads the context ids that the other side registers, in fours for Not-ECT, ECT(1), ECT(0) and CE. Returns undefined where it does
 * not know these contexts: without the field, and with one that is no list (RFC 9651 §4.2). Returns 'malformed' for one whose ids
 * break the rules. `by`: that side
 */
export function readTunnelContexts(
  field: string | undefined,
  by: 'client' | 'proxy',
  { reports = false }: { reports?: boolean } = {},
): number[] | 'malformed' | undefined {
  const sets = field === undefined ? undefined : parseSets(field);
  if (sets === undefined) return undefined;
  const ids = sets.flatMap(([, ...each]) => each);
  // RFC 9298 §4: no id has two meanings.
  const taken = [...ids, ...(reports ? [reportContext] : [])];
  const wellFormed =
    sets.length <= mostContextSets &&
    sets.every((set) => isSet(set, by)) &&
    isUnique(sets.map(([dscp]) => dscp)) &&
    isUnique(taken);
  return wellFormed ? ids : 'malformed';
}

/** Whether these are a DSCP and ids of this side. Context 0 is one of packets without a mark (RFC 9298 §4). */
function isSet([dscp = NaN, ...ids]: readonly number[], by: Side): boolean {
  const parity = by === 'client' ? 0 : 1;
  return (
    dscp <= largestDscp &&
    ids.length === idsOfSet &&
    ids.every((id, place) => (id === 0 ? place === 0 : id % 2 === parity))
  );
}

const isUnique = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

/** Returns the integers of each list; NaN for items that are none, or negative. */
function parseSets(field: string): number[][] | undefined {
  const sets: number[][] = [];
  innerList.lastIndex = 0;
  while (innerList.lastIndex < field.length) {
    const match = innerList.exec(field);
    if (match === null) return undefined;
    const items = match[1]!.split(/[ ,]+/).filter((item) => item !== '');
    sets.push(items.map((item) => (integer.test(item) ? Number(item) : NaN)));
  }
  return sets;
}

/** Contexts of a tunnel as the addon takes them. `ofPeer`: ids as `readTunnelContexts` returns them */
export const nativeContexts = (own: Side, ofPeer: readonly number[] | undefined) => ({
  contextSide: ofPeer === undefined ? sides.none : sides[own],
  contexts: ofPeer ?? [],
});
