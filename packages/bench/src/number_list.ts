import { z } from 'zod';

/** An option with several numbers, with commas between */
export const numberList = (fallback: string, number: z.ZodType<number, number>): z.ZodType<number[]> =>
  z
    .string()
    .default(fallback)
    .transform((text) => text.split(',').map(Number))
    .pipe(z.array(number).min(1));
