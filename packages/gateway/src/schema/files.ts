import { z } from 'zod';
import { duration, filePath } from '../values/scalars.js';

const filesObject = z.strictObject({
  root: filePath.describe('Directory to serve.'),
  index: z.string().min(1).default('index.html').describe('File that answers for a directory.'),
  hidden: z.boolean().default(false).describe('Serve files whose name starts with a dot (`.well-known` always is).'),
  precompressed: z
    .boolean()
    .default(true)
    .describe('Send FILE.br or FILE.gz when it exists and the client accepts it.'),
  max_age: duration.prefault('0s').describe('How long clients may use a file without asking again.'),
});

export type FilesOptions = z.output<typeof filesObject>;

export const filesOptions = z
  .union([filePath, filesObject])
  .transform((value): FilesOptions => (typeof value === 'string' ? filesObject.parse({ root: value }) : value))
  .describe("Directory of static files. The part of the URL after the route's `path` is looked up in it.");
