import { ProtocolError } from './errors.js';

/**
 * Converts a string of HTTP to bytes: one code unit is one byte (Fetch standard, "isomorphic encode").
 * @throws ProtocolError `malformed` for characters above U+00FF
 */
export function encodeByteString(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit > 0xff) throw new ProtocolError('malformed', 'character above U+00FF');
    bytes[index] = unit;
  }
  return bytes;
}

/** Converts bytes to a string, the inverse of {@link encodeByteString}. */
export function decodeByteString(bytes: Uint8Array): string {
  // Arguments of a call are limited; 8 KiB is below the limit of every engine.
  const step = 8192;
  let text = '';
  for (let start = 0; start < bytes.length; start += step) {
    text += String.fromCharCode(...bytes.subarray(start, start + step));
  }
  return text;
}
