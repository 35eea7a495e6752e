import type { PageResource } from '../table/page_table.js';
import { markupComment, padded } from './text.js';
import { words, type Random } from './random.js';

/** A resource, and its URL in the document */
export interface Reference {
  readonly resource: PageResource;
  /** URL relative to the document */
  readonly url: string;
}

/**
 * Overhead of a paragraph of text, of which one stands before each image and frame. Missing bytes beyond that become a
 * comment at the end.
 */
const paragraphOverhead = '<p></p>\n'.length;
const maxParagraph = 1_200;

/**
 * Creates the page's document with exactly this many bytes, or more if its references alone need more. Text is spread
 * between images, as on real pages. `html[data-complete]` tells that everything has arrived.
 */
export function pageDocument(
  name: string,
  bytes: number,
  references: readonly Reference[],
  inlineStyle: string,
  random: Random,
): Buffer {
  const head = headOf(name, references, inlineStyle);
  const blocks = blocksOf(references);
  const tail = tailOf(references);
  const length = Buffer.byteLength(head + blocks.join('') + tail);
  const room = Math.floor((bytes - length) / Math.max(1, blocks.length)) - paragraphOverhead;
  const paragraph = Math.min(room, maxParagraph);
  const body = blocks.map((block) => (paragraph > 0 ? `<p>${words(paragraph, random)}</p>\n` : '') + block).join('');
  const text = head + body + tail;
  return padded(text, Math.max(bytes, Buffer.byteLength(text)), markupComment, random);
}

function headOf(name: string, references: readonly Reference[], inlineStyle: string): string {
  const lines = references.flatMap(({ resource, url }) => headLine(resource, escapeAttribute(url)));
  const style = inlineStyle === '' ? [] : [`<style>${inlineStyle}</style>`];
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<meta charset="utf-8">',
    `<title>${escapeText(name)}</title>`,
    ...lines,
    ...style,
    '',
  ].join('\n');
}

function headLine({ load }: PageResource, url: string): string[] {
  switch (load) {
    case 'preload':
      return [`<link rel=preload as=font crossorigin href="${url}">`];
    case 'style':
      return [`<link rel=stylesheet href="${url}">`];
    case 'print':
      return [`<link rel=stylesheet media=print href="${url}">`];
    case 'script':
      return [`<script src="${url}"></script>`];
    case 'async':
      return [`<script async src="${url}"></script>`];
    case 'defer':
      return [`<script defer src="${url}"></script>`];
    case 'module':
      return [`<script type=module src="${url}"></script>`];
    default:
      return [];
  }
}

function blocksOf(references: readonly Reference[]): string[] {
  return references.flatMap(({ resource: { load }, url }) => {
    const source = escapeAttribute(url);
    switch (load) {
      case 'hero':
        return [`<img src="${source}" alt="" fetchpriority=high>\n`];
      case 'image':
        return [`<img src="${source}" alt="">\n`];
      case 'lazy':
        // The height keeps images further down out of sight until they are loaded.
        return [`<img src="${source}" alt="" loading=lazy height=400>\n`];
      case 'frame':
        return [`<iframe src="${source}"></iframe>\n`];
      default:
        return [];
    }
  });
}

function tailOf(references: readonly Reference[]): string {
  const late = references
    .filter(({ resource }) => resource.load === 'late')
    .map(({ url }) => `<script src="${escapeAttribute(url)}"></script>\n`);
  const data = references.filter(({ resource }) => resource.load === 'fetch').map(({ url }) => url);
  // Escapes `<`, so that no string of the script can end it.
  const list = JSON.stringify(data).replaceAll('<', '\\u003c');
  const wait = "new Promise(r=>addEventListener('load',r)),document.fonts.ready";
  return `${late.join('')}<script>Promise.all([...${list}.map(u=>fetch(u).then(r=>r.blob())),${wait}]).then(()=>document.documentElement.dataset.complete='')</script>\n`;
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
