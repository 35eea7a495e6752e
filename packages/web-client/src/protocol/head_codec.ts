import { decodeByteString, encodeByteString } from './byte_string.js';
import { ProtocolError } from './errors.js';
import {
  FIELD,
  LIMITS,
  PROTOCOL_VERSION,
  type Credentials,
  type HeaderField,
  type RequestHead,
  type ResponseHead,
} from './head.js';
import { DEFAULT_PRIORITY, decodePriority, encodePriority, type StreamPriority } from './priority.js';
import { validateRequestHead, validateResponseHead } from './validation.js';
import { readVarint, varintLength, writeVarint } from './varint.js';

/** Position of a head in the bytes that have arrived so far */
export interface HeadFrame {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the head that `bytes` starts with. Returns undefined until its version and length have arrived; `end` may lie
 * behind the bytes that have arrived.
 * @throws ProtocolError `unsupported_version`, `too_large`
 */
export function findHead(bytes: Uint8Array): HeadFrame | undefined {
  const version = readVarint(bytes, 0);
  if (version === undefined) return undefined;
  if (version.value !== PROTOCOL_VERSION) {
    throw new ProtocolError('unsupported_version', `version ${version.value} is not spoken here`);
  }
  const length = readVarint(bytes, version.end);
  if (length === undefined) return undefined;
  if (length.value > LIMITS.head) {
    throw new ProtocolError('too_large', `head above ${LIMITS.head} bytes`);
  }
  return { start: length.end, end: length.end + length.value };
}

/** Encodes version, length and head: the first bytes of a request stream. @throws ProtocolError */
export function encodeRequestHead(head: RequestHead): Uint8Array {
  validateRequestHead(head);
  const fields = [field(FIELD.method, encodeByteString(head.method)), field(FIELD.url, encodeByteString(head.url))];
  if (head.destination !== '') {
    fields.push(field(FIELD.destination, encodeByteString(head.destination)));
  }
  if (!isDefault(head.priority)) fields.push(field(FIELD.priority, encodePriority(head.priority)));
  if (head.credentials !== 'omitted') {
    fields.push(field(FIELD.credentials, Uint8Array.of(CREDENTIALS[head.credentials])));
  }
  return frame([...fields, ...head.headers.map(headerField)]);
}

/** Encodes version, length and head: the first bytes of a response. @throws ProtocolError */
export function encodeResponseHead(head: ResponseHead): Uint8Array {
  validateResponseHead(head);
  const status = new Uint8Array(varintLength(head.status));
  writeVarint(status, 0, head.status);
  return frame([field(FIELD.status, status), ...head.headers.map(headerField)]);
}

/** Decodes the bytes between a {@link HeadFrame}'s start and end. @throws ProtocolError */
export function decodeRequestHead(bytes: Uint8Array): RequestHead {
  const single = new SingleFields();
  const headers: HeaderField[] = [];
  let priority: StreamPriority | undefined;
  let credentials: Credentials | undefined;
  for (const { type, value } of fieldsOf(bytes)) {
    switch (type) {
      case FIELD.method:
      case FIELD.url:
      case FIELD.destination:
        single.add(type, decodeByteString(value));
        break;
      case FIELD.priority:
        if (priority) throw new ProtocolError('malformed', 'priority appears twice');
        priority = decodePriority(value);
        break;
      case FIELD.credentials:
        if (credentials) throw new ProtocolError('malformed', 'credentials appear twice');
        credentials = decodeCredentials(value);
        break;
      case FIELD.header:
        addHeader(headers, value);
        break;
      default: // A field of a later version.
    }
  }
  const head = {
    method: single.required(FIELD.method),
    url: single.required(FIELD.url),
    destination: single.optional(FIELD.destination),
    priority: priority ?? DEFAULT_PRIORITY,
    credentials: credentials ?? 'omitted',
    headers,
  };
  validateRequestHead(head);
  return head;
}

/** Decodes the bytes between a {@link HeadFrame}'s start and end. @throws ProtocolError */
export function decodeResponseHead(bytes: Uint8Array): ResponseHead {
  const headers: HeaderField[] = [];
  let status: number | undefined;
  for (const { type, value } of fieldsOf(bytes)) {
    switch (type) {
      case FIELD.status: {
        if (status !== undefined) throw new ProtocolError('malformed', 'status appears twice');
        const number = readVarint(value, 0);
        if (number?.end !== value.length) {
          throw new ProtocolError('malformed', 'status is not one integer');
        }
        status = number.value;
        break;
      }
      case FIELD.header:
        addHeader(headers, value);
        break;
      default: // A field of a later version.
    }
  }
  if (status === undefined) throw new ProtocolError('malformed', 'status is missing');
  const head = { status, headers };
  validateResponseHead(head);
  return head;
}

/** Codes of credentials; an absent field means omitted */
const CREDENTIALS = { none: 0x01, withheld: 0x02 } as const;

function decodeCredentials(bytes: Uint8Array): Credentials {
  const [code] = bytes;
  if (bytes.length === 1 && code === CREDENTIALS.none) return 'none';
  if (bytes.length === 1 && code === CREDENTIALS.withheld) return 'withheld';
  throw new ProtocolError('malformed', 'credentials are neither none nor withheld');
}

function isDefault({ urgency, incremental, dependency }: StreamPriority): boolean {
  return (
    dependency === undefined && urgency === DEFAULT_PRIORITY.urgency && incremental === DEFAULT_PRIORITY.incremental
  );
}

/** Collects fields that appear at most once. */
class SingleFields {
  private readonly values = new Map<number, string>();

  add(type: number, value: string): void {
    if (this.values.has(type)) throw new ProtocolError('malformed', `field ${type} appears twice`);
    this.values.set(type, value);
  }

  required(type: number): string {
    const value = this.values.get(type);
    if (value === undefined) throw new ProtocolError('malformed', `field ${type} is missing`);
    return value;
  }

  optional(type: number): string {
    return this.values.get(type) ?? '';
  }
}

function* fieldsOf(bytes: Uint8Array): Generator<{ type: number; value: Uint8Array }> {
  let offset = 0;
  while (offset < bytes.length) {
    const type = requireVarint(bytes, offset);
    const length = requireVarint(bytes, type.end);
    const end = length.end + length.value;
    if (end > bytes.length) throw new ProtocolError('malformed', 'field is longer than the head');
    yield { type: type.value, value: bytes.subarray(length.end, end) };
    offset = end;
  }
}

function requireVarint(bytes: Uint8Array, offset: number): { value: number; end: number } {
  const varint = readVarint(bytes, offset);
  if (varint === undefined) throw new ProtocolError('malformed', 'head ends inside an integer');
  return varint;
}

function addHeader(headers: HeaderField[], bytes: Uint8Array): void {
  // Checks the count here as well, so that a head full of empty headers costs little memory.
  if (headers.length >= LIMITS.headerCount) {
    throw new ProtocolError('too_large', `more than ${LIMITS.headerCount} headers`);
  }
  const length = requireVarint(bytes, 0);
  const end = length.end + length.value;
  if (end > bytes.length) throw new ProtocolError('malformed', 'header name is cut off');
  headers.push([decodeByteString(bytes.subarray(length.end, end)), decodeByteString(bytes.subarray(end))]);
}

function headerField([name, value]: HeaderField): Uint8Array {
  const nameBytes = encodeByteString(name);
  const valueBytes = encodeByteString(value);
  const bytes = new Uint8Array(varintLength(nameBytes.length) + nameBytes.length + valueBytes.length);
  const nameStart = writeVarint(bytes, 0, nameBytes.length);
  bytes.set(nameBytes, nameStart);
  bytes.set(valueBytes, nameStart + nameBytes.length);
  return field(FIELD.header, bytes);
}

function field(type: number, value: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(varintLength(type) + varintLength(value.length) + value.length);
  const lengthStart = writeVarint(bytes, 0, type);
  bytes.set(value, writeVarint(bytes, lengthStart, value.length));
  return bytes;
}

function frame(fields: readonly Uint8Array[]): Uint8Array {
  const length = fields.reduce((sum, bytes) => sum + bytes.length, 0);
  if (length > LIMITS.head) {
    throw new ProtocolError('too_large', `head above ${LIMITS.head} bytes`);
  }
  const bytes = new Uint8Array(varintLength(PROTOCOL_VERSION) + varintLength(length) + length);
  let offset = writeVarint(bytes, writeVarint(bytes, 0, PROTOCOL_VERSION), length);
  for (const part of fields) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}
