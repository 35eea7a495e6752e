import type { FlatFields } from './addon.js';
import type { HeaderMap } from './types.js';

/**
 * Collects the regular fields by name. A repeated field becomes a list, except that cookies are joined (RFC 9114
 * §4.2.1).
 */
export function toHeaderMap(fields: FlatFields): HeaderMap {
  const headers: HeaderMap = {};
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i]!;
    if (name.startsWith(':')) continue;
    const value = fields[i + 1]!;
    const earlier = headers[name];
    if (earlier === undefined) headers[name] = value;
    else if (name === 'cookie') headers[name] = `${String(earlier)}; ${value}`;
    else if (Array.isArray(earlier)) earlier.push(value);
    else headers[name] = [earlier, value];
  }
  return headers;
}

/** Returns the value of a pseudo-field (`:path`), or an empty string. */
export function pseudoField(fields: FlatFields, name: string): string {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (fields[i] === name) return fields[i + 1]!;
  }
  return '';
}

// Connection-specific fields, which HTTP/3 does not allow (RFC 9114 §4.2).
const connectionFields = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

type HeaderValue = string | number | readonly string[];

export function appendFields(fields: FlatFields, headers: Readonly<Record<string, HeaderValue>>): void {
  // Pairs of `Object.entries` would be an array for each field.
  for (const name of Object.keys(headers)) appendField(fields, name, headers[name]!);
}

export function appendField(fields: FlatFields, rawName: string, value: HeaderValue): void {
  const name = rawName.toLowerCase();
  if (connectionFields.has(name)) return;
  if (Array.isArray(value)) for (const item of value as readonly unknown[]) fields.push(name, String(item));
  else fields.push(name, String(value));
}
