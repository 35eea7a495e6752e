/** Path and query of a request, in a normal form */
export interface RequestTarget {
  /**
   * Path for the next server: without dot segments, with unreserved characters decoded, and with one slash at the
   * beginning
   */
  pathname: string;
  /** Path for finding routes and files: `pathname` without repeated slashes */
  routed: string;
  search: string;
  /** The authority of an absolute-form target, which overrides the Host header (RFC 9112 §3.2.2). */
  authority: string | undefined;
}

/** Matches paths and queries that are already in their normal form, as most are. */
const plain = /^(?:\/(?!\.{0,2}(?:\/|\?|$))[\w\-.~!$&'()*+,;=:@]+)*\/?(?:\?[\w\-.~!$&()*+,;=:@/?%]*)?$/;

/**
 * Parses a request target in origin form (`/a?b`) or absolute form (`http://host/a?b`). A path has many spellings (RFC
 * 3986 §6.2.2), and a route must match each of them. Otherwise the next server would decode the path, and serve what
 * the route protects. Returns undefined for any other target, and for a path with a NUL.
 */
export function parseRequestTarget(target: string): RequestTarget | undefined {
  const originForm = target.startsWith('/');
  if (originForm && plain.test(target)) {
    const query = target.indexOf('?');
    const pathname = query < 0 ? target : target.slice(0, query);
    return {
      pathname,
      routed: pathname,
      search: query < 0 || query === target.length - 1 ? '' : target.slice(query),
      authority: undefined,
    };
  }
  const text = originForm ? `http://host${target}` : target;
  if (!originForm && !/^https?:\/\//i.test(target)) return undefined;
  if (!URL.canParse(text)) return undefined;
  const { pathname, search, host } = new URL(text);
  if (pathname.includes('%00')) return undefined;
  const normal = withoutDotSegments(decodeUnreserved(pathname)).replace(/^\/+/, '/');
  return { pathname: normal, routed: mergeSlashes(normal), search, authority: originForm ? undefined : host };
}

/**
 * Returns the path as a server sees it that treats an encoded slash or backslash as a slash; undefined when the path
 * has none. The gateway cannot know how the next server treats them.
 */
export function withDecodedSlashes(routed: string): string | undefined {
  if (!/%(?:2f|5c)/i.test(routed)) return undefined;
  return mergeSlashes(withoutDotSegments(routed.replace(/%(?:2f|5c)/gi, '/')));
}

/** Decodes letters, digits, `-`, `.`, `_` and `~`, and writes other encodings in capitals (RFC 3986 §6.2.2). */
function decodeUnreserved(pathname: string): string {
  return pathname.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[\w\-.~]/.test(character) ? character : encoded.toUpperCase();
  });
}

/** Removes dot segments (RFC 3986 §5.2.4) by means of URL. */
function withoutDotSegments(pathname: string): string {
  return new URL(`http://host${pathname}`).pathname;
}

function mergeSlashes(pathname: string): string {
  return pathname.replace(/\/{2,}/g, '/');
}
