import type { ErrorCode, YAMLError } from 'yaml';

const hints: Partial<Record<ErrorCode, string>> = {
  BAD_DQ_ESCAPE: 'write `\\\\` for a backslash, or use single quotes',
  BAD_INDENT: 'keys and items of one block start in the same column',
  BAD_SCALAR_START: 'put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'put a value that holds `: ` in quotes, or write the keys below, indented',
  BLOCK_IN_FLOW: 'between brackets or braces write `{ key: value }` and `[item, item]`',
  DUPLICATE_KEY: 'remove one of them',
  MISSING_CHAR: 'a quote, bracket or comma is missing before this place',
  MULTILINE_IMPLICIT_KEY: 'write a colon and a space after a key: `key: value`',
  MULTIPLE_DOCS: 'a file holds one configuration: remove the `---` between them',
  TAB_AS_INDENT: 'indent with spaces',
  UNEXPECTED_TOKEN: 'remove it, or put the value in quotes',
};

/** Returns how such an error is usually corrected. */
export function syntaxHint({ code, message }: Pick<YAMLError, 'code' | 'message'>): string {
  const closing = /end with a ([}\]])$/.exec(message)?.[1];
  if (closing !== undefined) return `close it with \`${closing}\``;
  return hints[code] ?? 'put values with special characters in quotes';
}
