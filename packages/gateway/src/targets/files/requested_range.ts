/** Bytes of a file from `start` up to `end`, exclusive */
export interface Range {
  start: number;
  end: number;
}

/**
 * Returns the part of `size` bytes that a Range field asks for (RFC 9110 §14.1.2). Returns undefined for the whole
 * file: the field is absent, is malformed, or asks for several ranges (which §14.2 leaves to the server).
 */
export function requestedRange(field: string | undefined, size: number): Range | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(field ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  return start < end ? { start, end } : 'unsatisfiable';
}
