import { maxSealedGrant } from './sealed_grant.js';

/**
 * Header of a request to a backend: a sealed grant, in the alphabet of base64url without padding. Like the next one it is never
 * forwarded (`http/forwarded_headers.ts`).
 */
export const grantHeader = 'sheaf-grant';
/** Header of a backend's response whose body is the head of the response that the backend sends itself */
export const acceptedHeader = 'sheaf-accepted';
/** Header of a backend's response to a request with a grant: why the backend does not send it itself */
export const declinedHeader = 'sheaf-declined';
/** Maximum size of an encoded head in bytes */
export const maxHead = 8 * 1024;
const maxTag = 1_024;
const maxGrantText = Math.ceil((maxSealedGrant * 4) / 3);

export function encodeGrantHeader(sealed: Buffer): string {
  return sealed.toString('base64url');
}

/** Returns the sealed grant; undefined when the value is not one that {@link encodeGrantHeader} writes. */
export function decodeGrantHeader(value: string): Buffer | undefined {
  if (value === '' || value.length > maxGrantText) return undefined;
  // Node skips what does not belong into the alphabet, and takes texts with leftover bits.
  const sealed = Buffer.from(value, 'base64url');
  return sealed.toString('base64url') === value ? sealed : undefined;
}

/** What a backend tells about the response that it sends itself */
export interface Accepted {
  /** Final status code */
  status: number;
  /** Length of the body in bytes; undefined while it is unknown */
  length: number | undefined;
  /** Position in the representation at which the body begins; undefined when it is not known, or not one part */
  first: number | undefined;
  /** Strong entity tag of ASCII with its quotation marks, by which another node can continue; undefined without one */
  tag: string | undefined;
}

/** @throws RangeError for what {@link decodeAcceptedHeader} refuses */
export function encodeAcceptedHeader({ status, length, first, tag }: Accepted): string {
  const parts = [`status=${status}`];
  if (length !== undefined) parts.push(`length=${length}`);
  if (first !== undefined) parts.push(`first=${first}`);
  if (tag !== undefined) parts.push(`tag=${tag}`);
  const value = parts.join('; ');
  if (!decodeAcceptedHeader(value)) throw new RangeError(`no response is described by ${value}`);
  return value;
}

/** Entity tags above ASCII (RFC 9110 §8.8.3) are not taken: few servers write them, in several ways. */
const accepted =
  /^status=([2-5]\d\d)(?:; length=(0|[1-9]\d{0,15}))?(?:; first=(0|[1-9]\d{0,15}))?(?:; tag=("[\x21\x23-\x7e]*"))?$/;

/** Returns what the backend tells; undefined when the value is not one that {@link encodeAcceptedHeader} writes. */
export function decodeAcceptedHeader(value: string): Accepted | undefined {
  const [, status, lengthDigits, firstDigits, tag] = accepted.exec(value) ?? [];
  if (status === undefined || (tag?.length ?? 0) > maxTag) return undefined;
  const length = integer(lengthDigits);
  const first = integer(firstDigits);
  // The end of the body has a position, too.
  if (Number.isSafeInteger((length ?? 0) + (first ?? 0))) return { status: Number(status), length, first, tag };
  return undefined;
}

const integer = (digits: string | undefined): number | undefined => (digits === undefined ? undefined : Number(digits));

/**
 * Why a backend does not send a response itself. `small`: its body is not worth a grant. `unknown`: nobody could go on with it,
 * since its length or its strong entity tag is missing. `draining`: the backend is about to stop. `busy`: it holds as many
 * files or bytes as it may. `refused`: the grant cannot be used. A response without a body says nothing.
 */
export const declineReasons = ['small', 'unknown', 'draining', 'busy', 'refused'] as const;
export type DeclineReason = (typeof declineReasons)[number];

/** Returns why the backend declines; undefined when the value is not a reason that backends give. */
export function decodeDeclinedHeader(value: string): DeclineReason | undefined {
  return declineReasons.find((reason) => reason === value);
}

/**
 * Returns whether these bytes may be the head of a response for a client whose dynamic table the backend does not know:
 * a field section with a Required Insert Count and a Base of 0 (RFC 9204 §4.5.1), and at least one field.
 */
export function isHead(bytes: Uint8Array): boolean {
  return bytes.length > 2 && bytes.length <= maxHead && bytes[0] === 0 && bytes[1] === 0;
}
