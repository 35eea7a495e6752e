import { readFile, stat } from 'node:fs/promises';
import { errorMessage, systemErrorCode, UserError } from '@sheaf/gateway';
import { z } from 'zod';

/** Maximum size of a file. Larger ones contain mostly bodies, which are not read here. */
const maxFileBytes = 128 * 2 ** 20;
const maxEntries = 10_000;

const size = z.number().min(-1).max(Number.MAX_SAFE_INTEGER);
const text = z.string().max(16_384);

/** The part of an entry that is read (HAR 1.2). `_` marks additions of Chromium. */
const entry = z.object({
  pageref: text.optional(),
  request: z.object({ method: text, url: z.string().max(2 ** 20) }),
  response: z.object({
    status: z.number().int(),
    bodySize: size.optional(),
    content: z.object({ size: size.optional(), mimeType: text.optional() }),
  }),
  _resourceType: text.optional(),
  _priority: text.optional(),
  _initiator: z
    .object({
      type: text.optional(),
      url: z
        .string()
        .max(2 ** 20)
        .optional(),
    })
    .optional(),
});

const har = z.object({ log: z.object({ entries: z.array(z.unknown()).max(maxEntries) }) });

export type HarEntry = z.infer<typeof entry>;

/** Reads a HAR file. @throws UserError `HAR_INVALID` */
export async function readHar(path: string): Promise<unknown> {
  const invalid = (what: string, cause?: unknown): UserError =>
    new UserError('HAR_INVALID', `${path} ${what}`, {
      hint: "the network panel of a browser's developer tools saves HAR files",
      ...(cause === undefined ? {} : { cause }),
    });
  try {
    const { size: bytes } = await stat(path);
    if (bytes > maxFileBytes) throw invalid(`has more than ${maxFileBytes / 2 ** 20} MiB`);
    return JSON.parse((await readFile(path, 'utf8')).replace(/^\uFEFF/, ''));
  } catch (error) {
    if (error instanceof UserError) throw error;
    const code = systemErrorCode(error);
    throw invalid(
      code !== undefined && !(error instanceof SyntaxError)
        ? `cannot be read (${code})`
        : `is not JSON: ${errorMessage(error)}`,
      error,
    );
  }
}

export interface HarEntries {
  readonly entries: readonly HarEntry[];
  /** Number of malformed entries */
  readonly malformed: number;
}

/** Parses a HAR file. @throws UserError `HAR_INVALID` */
export function parseHar(value: unknown, name: string): HarEntries {
  const parsed = har.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new UserError(
      'HAR_INVALID',
      `${name} is no HAR file: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not understood'}`,
    );
  }
  const entries = parsed.data.log.entries.map((each) => entry.safeParse(each));
  return {
    entries: entries.flatMap((each) => (each.success ? [each.data] : [])),
    malformed: entries.filter((each) => !each.success).length,
  };
}
