/** Path and query of a request, with dot segments removed. */
export interface RequestTarget {
  pathname: string;
  search: string;
  /** The authority of an absolute-form target, which overrides the Host header (RFC 9112 §3.2.2). */
  authority: string | undefined;
}

/**
 * Parses a request target in origin form (`/a?b`) or absolute form (`http://host/a?b`).
 * Routes and files are looked up by this path, so that `/api/../secret` is `/secret` for everyone.
 * Undefined for anything else.
 */
export function parseRequestTarget(target: string): RequestTarget | undefined {
  const originForm = target.startsWith('/');
  const text = originForm ? `http://host${target}` : target;
  if (!originForm && !/^https?:\/\//i.test(target)) return undefined;
  if (!URL.canParse(text)) return undefined;
  const { pathname, search, host } = new URL(text);
  return { pathname, search, authority: originForm ? undefined : host };
}
