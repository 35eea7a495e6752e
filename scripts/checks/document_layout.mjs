// Lays out documents: Prettier's layout, except that tables are not padded, and that emphasis is written with `*`. The
// padding of a table would change all of its lines with each longer cell.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import prettier from 'prettier';
import { withoutCode } from './documents.mjs';
import { readTracked } from './tracked_files.mjs';

/** Returns the text of a document as it should be. Code in it stays as it is. */
export async function laidOut(text) {
  const formatted = await prettier.format(text, {
    parser: 'markdown',
    printWidth: 120,
    embeddedLanguageFormatting: 'off',
  });
  return withStars(withoutPadding(formatted));
}

/** Checks the layout of every document, or of others. Returns the same as a program that checks. */
export async function checkDocumentLayout(root, files = readTracked(root, /\.md$/)) {
  const wrong = [];
  for (const { path, text } of files)
    if ((await laidOut(text)) !== text) wrong.push(`${path}: not laid out; \`npm run format\` does it`);
  return { code: wrong.length === 0 ? 0 : 1, output: wrong.join('\n') };
}

/** Lays out every document. */
export async function formatDocuments(root) {
  for (const { path, text } of readTracked(root, /\.md$/)) {
    const formatted = await laidOut(text);
    if (formatted !== text) writeFileSync(join(root, path), formatted);
  }
}

function withoutPadding(text) {
  const outside = withoutCode(text).split('\n');
  return text
    .split('\n')
    .map((line, index) => (/^\s*\|/.test(outside[index]) ? compactRow(line) : line))
    .join('\n');
}

function compactRow(line) {
  const row = line
    .replace(/(?<!\\)\|\s+/g, '| ')
    .replace(/\s+(?<!\\)\|/g, ' |')
    .replace(/\| (?=\|)/g, '|  ')
    .trimEnd();
  return /^\s*\|[\s|:-]+$/.test(row) ? row.replace(/-+/g, '---') : row;
}

/** `withoutCode` keeps positions, so that matches in its result are those in the text. */
function withStars(text) {
  const emphasis = /(?<![\w*_])_(?=\S)(?:[^_\n]|\n(?!\n))+(?<=\S)_(?![\w_])/g;
  let starred = text;
  for (const { 0: match, index } of withoutCode(text).matchAll(emphasis)) {
    const end = index + match.length;
    starred = `${starred.slice(0, index)}*${starred.slice(index + 1, end - 1)}*${starred.slice(end)}`;
  }
  return starred;
}
