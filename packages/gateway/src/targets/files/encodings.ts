import { extname } from 'node:path';
import Negotiator from 'negotiator';
import { lookup } from 'mime-types';
import type { RequestHeaders } from '../../http/exchange.js';

export interface PrecompressedEncoding {
  /** Content coding (RFC 9110 §8.4.1) */
  name: 'br' | 'gzip';
  /** Suffix of the compressed file's name */
  extension: '.br' | '.gz';
}

/** Codings, the best one first */
const precompressed: readonly PrecompressedEncoding[] = [
  { name: 'br', extension: '.br' },
  { name: 'gzip', extension: '.gz' },
];

/** Returns the codings to look for; none for types that are already compressed, such as images and fonts. */
export function acceptedEncodings(headers: RequestHeaders, path: string): PrecompressedEncoding[] {
  if (headers['accept-encoding'] === undefined || !isWorthCompressing(path)) return [];
  const names = precompressed.map((encoding) => encoding.name);
  const accepted = new Negotiator({ headers: headers }).encodings(names);
  return precompressed.filter((encoding) => accepted.includes(encoding.name));
}

const compressibleType =
  /^text\/|[+/](json|xml|javascript|wasm|svg\+xml|manifest\+json)$|^image\/(svg\+xml|bmp|x-icon|vnd\.microsoft\.icon)$/;

/** Returns whether the file has a type, such as text, that is not already compressed. */
export function isWorthCompressing(path: string): boolean {
  const type = lookup(extname(path));
  return type !== false && compressibleType.test(type);
}
