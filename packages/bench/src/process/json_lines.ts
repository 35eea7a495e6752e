import type { z } from 'zod';

/** What a program printed, one JSON value on each line. @throws ZodError when a line is something else */
export function parseJsonLines<Value>(output: string, value: z.ZodType<Value>): Value[] {
  return output
    .trimEnd()
    .split('\n')
    .map((line) => value.parse(JSON.parse(line)));
}
