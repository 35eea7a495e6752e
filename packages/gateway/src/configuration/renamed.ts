import type { ValuePath } from '../values/document.js';

/** Current names of keys that had another name in earlier versions */
const renamedKeys: Readonly<Record<string, string>> = { ends: 'backends' };

/** Current names of values that had another name in earlier versions, by key */
const renamedValues: Readonly<Record<string, Readonly<Record<string, string>>>> = { role: { end: 'backend' } };

/** Returns the current name of a key if that name is one of `known`. */
export function renamedKey(key: string, known: readonly string[]): string | undefined {
  const now = Object.hasOwn(renamedKeys, key) ? renamedKeys[key] : undefined;
  return now !== undefined && known.includes(now) ? now : undefined;
}

/** Returns the current name of a value of the key at `path`. */
export function renamedValue(path: ValuePath, value: unknown): string | undefined {
  const key = String(path.at(-1));
  const values = Object.hasOwn(renamedValues, key) ? renamedValues[key] : undefined;
  return typeof value === 'string' && values && Object.hasOwn(values, value) ? values[value] : undefined;
}
