/** Bounds on a name in a path, which is that of Linux, and on the whole path, in bytes of UTF-8 */
const maxNameBytes = 255;
const maxPathBytes = 1_024;
/** Directories around a file */
const maxDepth = 64;

/** Says why no published file may have this path, as a predicate. Undefined for a path that stays in its directory. */
export function objectionTo(path: string): string | undefined {
  if (Buffer.byteLength(path) > maxPathBytes) return `is longer than ${maxPathBytes} bytes`;
  if (/[\p{Cc}\\]/u.test(path)) return 'has a backslash or a control character';
  const names = path.split('/');
  if (names.length > maxDepth + 1) return `is more than ${maxDepth} directories deep`;
  for (const name of names) {
    if (name === '') return 'is absolute, or has an empty name';
    if (name === '.' || name === '..') return `has the name \`${name}\``;
    if (Buffer.byteLength(name) > maxNameBytes) return `has a name of more than ${maxNameBytes} bytes`;
  }
  return undefined;
}
