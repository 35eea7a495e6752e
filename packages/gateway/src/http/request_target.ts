/** Path and query of a request, in a normal form. */
export interface RequestTarget {
  /** What goes on to the next server: dot segments removed, unreserved characters decoded, one slash at the beginning. */
  pathname: string;
  /** What routes and files are looked up by: `pathname` with one slash where several stand together. */
  routed: string;
  search: string;
  /** The authority of an absolute-form target, which overrides the Host header (RFC 9112 §3.2.2). */
  authority: string | undefined;
}

/** A path and query of which the rules below change nothing; most are. */
const plain = /^(?:\/(?!\.{0,2}(?:\/|\?|$))[\w\-.~!$&'()*+,;=:@]+)*\/?(?:\?[\w\-.~!$&()*+,;=:@/?%]*)?$/;

/**
 * Parses a request target in origin form (`/a?b`) or absolute form (`http://host/a?b`). One path has many
 * spellings (RFC 3986 §6.2.2); a route must match each of them, or the next server, which decodes, would serve what
 * the routes keep. Undefined for anything else, and for a path with a NUL.
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
 * The path as a server sees it that takes an encoded slash or backslash for a slash; undefined when there is none. Which
 * one the next server is, nobody knows here.
 */
export function withDecodedSlashes(routed: string): string | undefined {
  if (!/%(?:2f|5c)/i.test(routed)) return undefined;
  return mergeSlashes(withoutDotSegments(routed.replace(/%(?:2f|5c)/gi, '/')));
}

/** RFC 3986 §6.2.2: letters, digits, `-`, `.`, `_` and `~` are decoded, other encodings written in capitals. */
function decodeUnreserved(pathname: string): string {
  return pathname.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[\w\-.~]/.test(character) ? character : encoded.toUpperCase();
  });
}

/** RFC 3986 §5.2.4, as URL has it. */
function withoutDotSegments(pathname: string): string {
  return new URL(`http://host${pathname}`).pathname;
}

function mergeSlashes(pathname: string): string {
  return pathname.replace(/\/{2,}/g, '/');
}
