// Checks the documents: their links and anchors, the documents that sources name, and the length of their paragraphs.
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { readTracked } from './tracked_files.mjs';

const maximumParagraph = 600;
const sources = /\.(?:cc|h|js|mjs|py|rs|go|ts|md|yaml)$/;
/** Tests of these checks, which name documents that do not exist */
const unchecked = /^scripts\/test\/(?:documents|code_links)\.test\.mjs$/;

/** Returns one line for each link that leads nowhere, and for each named document that does not exist. */
export function checkLinks(root) {
  return findBrokenLinks(readTracked(root, sources, unchecked), (path) => existsSync(join(root, path)));
}

/** Returns one line for each paragraph, list item or table cell of a document that is too long to read. */
export function checkParagraphs(root) {
  return findLongParagraphs(readTracked(root, /\.md$/, unchecked));
}

/** Finds broken links. `exists` gets paths from the root of the repository. */
export function findBrokenLinks(files, exists) {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  return files.flatMap(({ path, text }) => [
    ...(path.endsWith('.md') ? brokenLinks(path, text, texts, exists) : []),
    ...missingDocuments(path, text, exists),
  ]);
}

function brokenLinks(path, text, texts, exists) {
  return links(text).flatMap(({ target, line }) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [file, anchor] = target.split('#');
    const full = file ? normalize(join(dirname(path), file)) : path;
    if (!exists(full)) return [`${path}:${line}: ${target}: there is no such file`];
    const known = anchor === undefined || !full.endsWith('.md') || anchors(texts.get(full) ?? '').has(anchor);
    return known ? [] : [`${path}:${line}: ${target}: there is no such heading`];
  });
}

/** Finds missing documents, which sources name by their path from the root. */
function missingDocuments(path, text, exists) {
  return [...text.matchAll(/(?<![\w./-])docs\/[\w/-]+\.(?:md|png|svg)/g)]
    .filter(([name]) => !exists(name))
    .map((match) => `${path}:${lineOf(text, match.index)}: there is no ${match[0]}`);
}

/** Returns every link of a document outside of its code; `index` is that of `](`. */
export function links(text) {
  return [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => ({
    target: match[1],
    line: lineOf(text, match.index),
    index: match.index,
  }));
}

/** Returns the anchors that GitHub gives to headings. A repeated heading gets a number. */
function anchors(text) {
  const counts = new Map();
  return new Set(
    [...withoutCode(text).matchAll(/^#{1,6} +(.*)$/gm)].map(([, heading]) => {
      const anchor = heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replace(/\s/g, '-');
      const count = counts.get(anchor) ?? 0;
      counts.set(anchor, count + 1);
      return count === 0 ? anchor : `${anchor}-${count}`;
    }),
  );
}

/** Replaces code by spaces, which preserves positions. The text of headings stays. */
export function withoutCode(text) {
  const blank = (code) => code.replace(/[^\n]/g, ' ');
  return text
    .replace(/^(`{3,})[^`\n]*\n[\s\S]*?^\1 *$/gm, blank)
    .replace(/^(?!#).*$/gm, (line) => line.replace(/`[^`]+`/g, blank));
}

/** Finds long paragraphs. Those that `sheaf evidence documents` writes are as long as their measured figures. */
export function findLongParagraphs(files) {
  return files.flatMap(({ path, text }) =>
    paragraphs(withoutEvidence(text))
      .filter(({ content }) => content.length > maximumParagraph)
      .map(
        ({ content, line }) =>
          `${path}:${line}: ${content.length} characters in one paragraph, of ${maximumParagraph} that are allowed: "${content.slice(0, 40)}…"`,
      ),
  );
}

/** Replaces the lines that `sheaf evidence documents` writes by empty ones. */
function withoutEvidence(text) {
  return text.replace(/^<!-- evidence: [\s\S]*?^<!-- end of evidence -->$/gm, (lines) => lines.replace(/[^\n]/g, ''));
}

/**
 * Returns paragraphs, list items and table cells as a reader sees them: on one line, and without the targets of links.
 */
function paragraphs(text) {
  const found = [];
  let last;
  let fence = '';
  for (const [index, line] of text.split('\n').entries()) {
    const mark = /^\s*(`{3,})/.exec(line)?.[1];
    if (mark) fence = fence === '' ? mark : line.trim() === fence ? '' : fence;
    if (mark || fence !== '' || line.trim() === '' || /^\s*(?:#|<!--)/.test(line)) last = undefined;
    else if (line.startsWith('|')) {
      last = undefined;
      for (const cell of line.split('|')) found.push({ line: index + 1, content: visible(cell) });
    } else if (last === undefined || /^\s*(?:[-*]|\d+\.) /.test(line)) {
      found.push((last = { line: index + 1, content: visible(line) }));
    } else last.content += ` ${visible(line)}`;
  }
  return found;
}

function visible(text) {
  return text.trim().replace(/\]\([^)\s]+\)/g, ']');
}

function lineOf(text, index) {
  return text.slice(0, index).split('\n').length;
}
