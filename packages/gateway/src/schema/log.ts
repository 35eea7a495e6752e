import { z } from 'zod';
import { filePath } from '../values/scalars.js';

export const logOptions = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Minimum severity that is written.'),
  access: z.boolean().default(true).describe('One line per request and per WebTransport session.'),
  file: filePath.optional().describe('Append to this file; default: standard error.'),
});

export type LogOptions = z.output<typeof logOptions>;
