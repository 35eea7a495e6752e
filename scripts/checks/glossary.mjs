// Finds words in sources, documents and names of files that docs/glossary.md wants avoided, and comments that begin
// without a noun.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTracked } from './tracked_files.mjs';

const glossary = 'docs/glossary.md';
/** Files that others wrote, data, and the documents that have to name the words */
const unchecked =
  /^(?:LICENSE|pnpm-lock\.yaml|docs\/glossary\.md|scripts\/test\/glossary\.test\.mjs)$|\/fixtures\/recorded\/|\.(?:lock|png|sum|tsv)$/;

/** The opening of a documentation comment whose noun is missing. */
const headless = /^[ \t]*\/\*\*\s+(?:\*\s+)?(Of|Who|Whom)\b/gm;

/** Returns one line for each avoided word and for each comment without a noun in a tracked file of the repository. */
export function checkGlossary(root) {
  const rules = readGlossary(readFileSync(join(root, glossary), 'utf8'));
  const files = readTracked(root, /(?:)/, unchecked);
  return [...findAvoided(rules, files), ...findHeadless(files)];
}

/** Finds documentation comments such as "Of the last request", which leave out the noun that they are about. */
export function findHeadless(files) {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(headless)].map(
      ({ 0: opening, 1: word, index }) =>
        `${path}:${text.slice(0, index + opening.length).split('\n').length}: a comment begins with "${word}": name the noun (${glossary})`,
    ),
  );
}

/** Reads the tables of words and of exceptions. @throws Error for a malformed row, or a word with two rows */
export function readGlossary(text) {
  const [words = '', exceptions = ''] = text.split(/^## Exceptions$/m);
  const terms = rows(words, 3).map(([word, , avoid]) => ({ word, avoid: phrases(avoid) }));
  const repeated = terms.find(({ word }, index) => terms.findIndex((other) => other.word === word) < index);
  if (repeated) throw new Error(`${glossary}: "${repeated.word}" stands there twice`);
  if (terms.length === 0) throw new Error(`${glossary}: no word was found`);
  return {
    terms,
    exceptions: rows(exceptions, 3).map(([allowed, place]) => ({
      allowed: phrases(allowed)[0] ?? '',
      places: phrases(place),
    })),
  };
}

/** Finds avoided words in the files and in their names, and exceptions that nothing needs any more. */
export function findAvoided({ terms, exceptions }, files) {
  const used = new Set();
  const rules = terms.flatMap(({ word, avoid }) =>
    avoid.map((phrase) => ({ phrase, wanted: `"${phrase}" is called "${word}" (${glossary})` })),
  );
  const found = files.flatMap(({ path, text }) =>
    rules.flatMap(({ phrase, wanted }) => [
      ...(pattern(phrase).test(path) ? [`${path}: in its name, ${wanted}`] : []),
      ...[...text.matchAll(pattern(phrase))].flatMap((match) => {
        const exception = exceptions.find(
          ({ allowed, places }) => places.some((place) => path.startsWith(place)) && covers(text, match, allowed),
        );
        if (exception) used.add(exception);
        return exception ? [] : [`${path}:${text.slice(0, match.index).split('\n').length}: ${wanted}`];
      }),
    ]),
  );
  const useless = exceptions
    .filter((exception) => !used.has(exception))
    .map(({ allowed }) => `${glossary}: nothing needs the exception "${allowed}"`);
  return [...new Set(found), ...useless];
}

/**
 * Matches a phrase as whole words, whose space may be a line break inside a comment, and as an identifier: `two words`
 * is found in `twoWords`, `areTwoWords`, `two_words` and `TWO_WORDS`, too.
 */
function pattern(phrase) {
  const open = phrase.endsWith('*');
  const prose = phrase
    .replace(/\*$/, '')
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll(' ', '\\s+(?:(?:\\*|//|#)\\s+)?');
  const words = phrase
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
  const [first, ...others] = words;
  const rest = others.map(capital).join('');
  const forms = [
    `(?<![\\w-])${anyCase(prose)}${open ? '\\w*' : '(?![\\w-])'}`,
    `(?<![A-Za-z0-9])${anyCase(words.join('[_-]'))}${open ? '[_-]\\w*' : '(?![A-Za-z0-9])'}`,
    `(?<![A-Za-z0-9])${first}${rest}${open ? '[A-Z]\\w*' : '(?![a-z])'}`,
    `(?<![A-Z])${capital(first)}${rest}${open ? '[A-Z]\\w*' : '(?![a-z])'}`,
  ];
  return new RegExp(forms.join('|'), 'g');
}

const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** Makes letters of a pattern match in both cases, except those of its escapes. */
const anyCase = (text) =>
  text.replaceAll(/\\.|[A-Za-z]/g, (part) => (part.length > 1 ? part : `[${part.toLowerCase()}${part.toUpperCase()}]`));

/** Whether the match lies inside of an allowed phrase, as it stands in the table: another spelling is no exception. */
function covers(text, match, allowed) {
  const from = Math.max(0, match.index - allowed.length);
  const literal = new RegExp(allowed.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', '\\s+'), 'g');
  return [...text.slice(from, match.index + match[0].length + allowed.length).matchAll(literal)].some(
    (each) => from + each.index <= match.index && match.index + match[0].length <= from + each.index + each[0].length,
  );
}

function rows(text, columns) {
  const lines = text.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) => {
    const cells = line
      .slice(1, line.lastIndexOf('|'))
      .split('|')
      .map((cell) => cell.trim());
    if (cells.length !== columns)
      throw new Error(`${glossary}: a row has ${cells.length} cells instead of ${columns}: ${line}`);
    return cells;
  });
}

function phrases(cell) {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, phrase]) => phrase);
}
