// What the summary says of a test that failed. The summary is at the end, where whoever has only the last lines finds it.
import { stripVTControlCharacters } from 'node:util';

const maximumLines = 12;

/** Returns the test's name and below it the reason: the first lines of what its runner reported, without colours or stack. */
export function failure(name, message = '') {
  const lines = stripVTControlCharacters(message)
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s+at /.test(line));
  return [name, ...lines.slice(0, maximumLines).map((line) => `          ${line}`)].join('\n');
}
