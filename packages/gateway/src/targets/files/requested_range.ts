/** Bytes of a file from `start` up to, and without, `end`. */
export interface Range {
  start: number;
  end: number;
}

/**
 * What a Range field asks for (RFC 9110 §14.1.2) of `size` bytes. Undefined for the whole file: there is no field, it is
 * not understood, or it asks for several ranges (§14.2 leaves these to the server).
 */
export function requestedRange(field: string | undefined, size: number): Range | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(field ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  return start < end ? { start, end } : 'unsatisfiable';
}
