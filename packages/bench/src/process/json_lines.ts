import type { z } from 'zod';

/** Parses a line of JSON. Returns undefined for one that was cut off when its writer was killed. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses a program's output of one JSON value per line. @throws ZodError when a line is something else */
export function parseJsonLines<Value>(output: string, value: z.ZodType<Value>): Value[] {
  return output
    .trimEnd()
    .split('\n')
    .map((line) => value.parse(JSON.parse(line)));
}
