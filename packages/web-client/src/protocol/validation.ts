import { ProtocolError } from './errors.js';
import { LIMITS, type HeaderField, type RequestHead, type ResponseHead } from './head.js';

// RFC 9110 §5.6.2: token
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// RFC 9110 §5.5: visible characters, spaces and tabs inside, and obs-text
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const LOWER_CASE_NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
// Methods that make no sense on a stream of their own, or would turn it into a tunnel
const FORBIDDEN_METHODS = new Set(['CONNECT', 'TRACE', 'TRACK']);
// RFC 9114 §4.2: fields that describe the connection of one hop
const CONNECTION_HEADERS = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

/** Checks a head against the rules of docs/reference/wire.md. @throws ProtocolError */
export function validateRequestHead(head: RequestHead): void {
  within('method', head.method, LIMITS.method);
  if (!TOKEN.test(head.method) || FORBIDDEN_METHODS.has(head.method.toUpperCase())) {
    throw new ProtocolError('malformed', 'method is not usable');
  }
  validateUrl(head.url);
  within('destination', head.destination, LIMITS.destination);
  if (!/^[a-z]*$/.test(head.destination)) {
    throw new ProtocolError('malformed', 'destination is not a token');
  }
  validateHeaders(head.headers);
}

/** Checks a head against the rules of docs/reference/wire.md. @throws ProtocolError */
export function validateResponseHead(head: ResponseHead): void {
  if (!Number.isInteger(head.status) || head.status < 200 || head.status > 599) {
    throw new ProtocolError('malformed', 'status is not between 200 and 599');
  }
  validateHeaders(head.headers);
}

function validateUrl(text: string): void {
  within('URL', text, LIMITS.url);
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) {
    throw new ProtocolError('malformed', 'URL is not an absolute http(s) URL');
  }
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || text.includes('#')) {
    throw new ProtocolError('malformed', 'URL has credentials or a fragment');
  }
}

function validateHeaders(headers: readonly HeaderField[]): void {
  if (headers.length > LIMITS.headerCount) {
    throw new ProtocolError('too_large', `more than ${LIMITS.headerCount} headers`);
  }
  for (const [name, value] of headers) {
    within('header name', name, LIMITS.headerName);
    within('header value', value, LIMITS.headerValue);
    if (!LOWER_CASE_NAME.test(name) || CONNECTION_HEADERS.has(name)) {
      throw new ProtocolError('malformed', 'header name is not allowed');
    }
    if (!FIELD_VALUE.test(value) || value !== trim(value)) {
      throw new ProtocolError('malformed', `value of header ${name} is not a field value`);
    }
  }
}

// RFC 9110 §5.5: surrounding spaces and tabs do not belong to a field value.
function trim(value: string): string {
  return value.replace(/^[\t ]+|[\t ]+$/g, '');
}

function within(what: string, text: string, limit: number): void {
  if (text.length > limit) throw new ProtocolError('too_large', `${what} above ${limit} bytes`);
}
