// Finds words in source and documents that docs/glossary.md wants avoided, and comments that begin without a noun.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTracked } from './tracked_files.mjs';

const glossary = 'docs/glossary.md';
const checked = /\.(?:cc|css|go|h|html|js|md|mjs|py|rs|toml|ts|txt|yaml)$/;
const unchecked =
  /^(?:LICENSE|pnpm-lock\.yaml|docs\/glossary\.md|scripts\/test\/glossary\.test\.mjs)$|\/fixtures\/recorded\//;

/** The opening of a documentation comment whose noun is missing. */
const headless = /^[ \t]*\/\*\*\s+(?:\*\s+)?(Of|Who|Whom)\b/gm;

/** Returns one line for each avoided word and for each comment without a noun in a tracked file of the repository. */
export function checkGlossary(root) {
  const rules = readGlossary(readFileSync(join(root, glossary), 'utf8'));
  const files = readTracked(root, checked, unchecked);
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

/** Finds avoided words in the files, and exceptions that nothing needs any more. */
export function findAvoided({ terms, exceptions }, files) {
  const used = new Set();
  const found = files.flatMap(({ path, text }) =>
    terms.flatMap(({ word, avoid }) =>
      avoid.flatMap((phrase) =>
        [...text.matchAll(pattern(phrase))].flatMap((match) => {
          const exception = exceptions.find(
            ({ allowed, places }) => places.some((place) => path.startsWith(place)) && covers(text, match, allowed),
          );
          if (exception) used.add(exception);
          return exception
            ? []
            : [
                `${path}:${text.slice(0, match.index).split('\n').length}: "${phrase}" is called "${word}" (${glossary})`,
              ];
        }),
      ),
    ),
  );
  const useless = exceptions
    .filter((exception) => !used.has(exception))
    .map(({ allowed }) => `${glossary}: nothing needs the exception "${allowed}"`);
  return [...new Set(found), ...useless];
}

/** Matches whole words. The space between two words may be a line break inside a comment. */
function pattern(phrase) {
  const escaped = phrase.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*$/, '\\w*');
  const spaced = escaped.replaceAll(' ', '\\s+(?:(?:\\*|//|#)\\s+)?');
  return new RegExp(`(?<![\\w-])${spaced}(?![\\w-])`, 'g');
}

function covers(text, match, allowed) {
  const from = Math.max(0, match.index - allowed.length);
  return [...text.slice(from, match.index + match[0].length + allowed.length).matchAll(pattern(allowed))].some(
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
