import type { HeaderField, RequestHead, StreamPriority } from '../protocol/index.js';

/** Values that the browser adds to requests of its own, but not to those of a worker */
export interface Visitor {
  readonly userAgent: string;
  readonly languages: readonly string[];
  readonly encodings: readonly string[];
}

/** Returns the head that requests from the gateway what `request` would request from the network. */
export function requestHead(
  request: Request,
  visitor: Visitor,
  priority: StreamPriority,
): Omit<RequestHead, 'credentials'> {
  const headers = new Headers(request.headers);
  const fill = (name: string, value: string): void => {
    if (value !== '' && !headers.has(name)) headers.set(name, value);
  };
  fill('user-agent', visitor.userAgent);
  fill('accept-language', visitor.languages.slice(0, 8).join(', '));
  if (!headers.has('range')) fill('accept-encoding', visitor.encodings.join(', '));
  const referrer = withoutFragment(request.referrer);
  fill('referer', /^https?:/.test(referrer) ? referrer : '');
  // Fetch standard, "append a request Origin header"
  if (request.method !== 'GET' && request.method !== 'HEAD' && referrer !== '') {
    fill('origin', URL.canParse(referrer) ? new URL(referrer).origin : '');
  }
  const fields: HeaderField[] = [...headers.entries()];
  return {
    method: request.method,
    url: withoutFragment(request.url),
    destination: request.destination,
    priority,
    headers: fields,
  };
}

function withoutFragment(url: string): string {
  const position = url.indexOf('#');
  return position === -1 ? url : url.slice(0, position);
}
