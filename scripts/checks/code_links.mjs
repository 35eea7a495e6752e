// Checks links from documents to symbols: [`Endpoint::receive`](…/endpoint.cc) must lead to a file that defines the
// symbol.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { readTracked } from './tracked_files.mjs';

const waysDocument = 'docs/internals/ways.md';
const maximumSteps = 12;
const waysWanted = ['datagram', 'request', 'scheduling decision', 'hand-over'];

/** Returns one line for each symbol that its file does not define, and for each way that is missing or malformed. */
export function checkCodeLinks(root) {
  const documents = readTracked(root, /\.md$/);
  const read = (path) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined);
  const ways = documents.find(({ path }) => path === waysDocument)?.text ?? '';
  const broken = findBrokenSymbols(documents, read);
  const sources = broken.length === 0 ? [] : readTracked(root, /^packages\/[^/]+\/(?:src|lib)\/.*\.(?:cc|h|ts)$/);
  return [...broken.map((line) => line + whereNow(line, sources)), ...findBadWays(ways)];
}

/** Returns where a symbol that moved is defined now, to add to the message. */
export function whereNow(line, sources) {
  const symbol = /(\S+)$/.exec(line)?.[1] ?? '';
  const places = sources.filter(({ path, text }) => defines(path, text, symbol)).map(({ path }) => path);
  return places.length === 0 ? '' : `; ${places.slice(0, 3).join(' and ')} defines it`;
}

/** Checks all links to symbols. `read` returns the text of a file by its path from the root, or undefined. */
export function findBrokenSymbols(documents, read) {
  return documents.flatMap(({ path, text }) =>
    symbolLinks(text).flatMap(({ symbol, target, line }) => {
      const source = read(normalize(join(dirname(path), target)));
      if (source === undefined) return [`${path}:${line}: there is no file ${target} with ${symbol}`];
      return defines(target, source, symbol) ? [] : [`${path}:${line}: ${target} does not define ${symbol}`];
    }),
  );
}

/**
 * Checks the ways: each is a heading "The way of …" with a numbered list of at most 12 steps, and each step links to a
 * symbol.
 */
export function findBadWays(text) {
  const sections = text.split(/^## /m).filter((section) => section.startsWith('The way of '));
  const missing = waysWanted
    .filter((way) => !sections.some((section) => section.split('\n')[0].endsWith(way)))
    .map((way) => `${waysDocument}: the way of a ${way} is missing`);
  const bad = sections.flatMap((section) => {
    const title = section.split('\n')[0];
    const steps = section.split(/^\d+\. /m).slice(1);
    const unlinked = steps.filter((step) => symbolLinks(step).length === 0);
    return [
      ...(steps.length > 0 && steps.length <= maximumSteps
        ? []
        : [`${waysDocument}: ${title} has ${steps.length} steps; 1 to ${maximumSteps} are allowed`]),
      ...unlinked.map((step) => `${waysDocument}: ${title}: no link to a symbol in "${step.trim().slice(0, 40)}…"`),
    ];
  });
  return [...missing, ...bad];
}

function symbolLinks(text) {
  return [...text.matchAll(/\[`([^`]+)`\]\(([^)\s#]+\.(?:cc|h|ts))\)/g)].map((match) => ({
    symbol: match[1],
    target: match[2],
    line: text.slice(0, match.index).split('\n').length,
  }));
}

/** Returns whether a file defines a symbol. A call, a comment or a part of another name is no definition. */
function defines(path, source, symbol) {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, ' ').replace(/^\s*\/\/.*$/gm, ' ');
  const [name, ...owners] = symbol.split(path.endsWith('.ts') ? '.' : '::').reverse();
  const owner = owners.reverse().join('::');
  return path.endsWith('.ts') ? definesInTypeScript(code, owner, name) : definesInCpp(code, owner, name);
}

function definesInTypeScript(code, owner, name) {
  if (owner === '')
    return pattern(
      `^(?:export )?(?:default )?(?:abstract )?(?:async )?(?:function\\*?|class|interface|type|const) ${name}\\b`,
    ).test(code);
  const modifiers = '(?:(?:public|private|protected|static|async|abstract|override|readonly|get|set) )*';
  const member = pattern(`^ {2}${modifiers}\\*?${name}\\??[(<:]|^ {2}${modifiers}${name} = `);
  return member.test(body(code, pattern(`\\b(?:class|interface) ${owner}\\b`)));
}

function definesInCpp(code, owner, name) {
  const result = '(?:[\\w:<>,&*~\\[\\] ]+[ &*])?';
  if (owner === '')
    return pattern(
      `^(?:class|struct|enum class) ${name}\\b[^;]*$|^(?! )(?!return )[\\w:<>,&*\\[\\] ]+[ &*]${name}\\(`,
    ).test(code);
  if (pattern(`^(?! )${result}${owner}::${name}\\(`).test(code)) return true;
  const member = pattern(`^ {2}(?! )(?!return )[\\w:<>,&*~\\[\\] ]+[ &*]${name}\\(`);
  return member.test(body(code, pattern(`^ *(?:class|struct) ${owner}\\b[^;]*\\{`)));
}

/** Returns the text of a class, from the line where it begins to the line where it ends. */
function body(code, start) {
  const from = code.search(start);
  if (from < 0) return '';
  const end = code.slice(from).search(/^\}/m);
  return end < 0 ? code.slice(from) : code.slice(from, from + end);
}

function pattern(text) {
  return new RegExp(text.replaceAll('#', '\\#').replaceAll('\\\\#', '\\#'), 'm');
}
