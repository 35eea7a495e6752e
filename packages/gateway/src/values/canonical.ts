import type { NodePublicKey } from './node_key.js';

/** Returns a text that two values share only if they say the same, whatever the order of their keys. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const prototype: unknown = Object.getPrototypeOf(value);
  // URLs and keys tell what they are as text, and hide it from `JSON.stringify` or from enumeration.
  if (prototype !== Object.prototype && prototype !== null)
    return JSON.stringify((value as URL | NodePublicKey).toString());
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const sorted = entries.sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${sorted.map(([key, each]) => `${JSON.stringify(key)}:${canonicalText(each)}`).join(',')}}`;
}
