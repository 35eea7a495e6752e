import type { ValuePath } from '../values/document.js';

/** Keys of earlier versions, and what they are called now. */
const renamedKeys: Readonly<Record<string, string>> = { ends: 'backends' };

/** Values of earlier versions, by their key. */
const renamedValues: Readonly<Record<string, Readonly<Record<string, string>>>> = { role: { end: 'backend' } };

/** What this key is called now, where it is one of `known`. */
export function renamedKey(key: string, known: readonly string[]): string | undefined {
  const now = Object.hasOwn(renamedKeys, key) ? renamedKeys[key] : undefined;
  return now !== undefined && known.includes(now) ? now : undefined;
}

/** What this value of the key at `path` is called now. */
export function renamedValue(path: ValuePath, value: unknown): string | undefined {
  const key = String(path.at(-1));
  const values = Object.hasOwn(renamedValues, key) ? renamedValues[key] : undefined;
  return typeof value === 'string' && values && Object.hasOwn(values, value) ? values[value] : undefined;
}
