import { words, type Random } from './random.js';

/** Pads a text to exactly this many bytes with a comment, or with line ends when no comment fits. */
export function padded(text: string, bytes: number, [open, close]: readonly [string, string], random: Random): Buffer {
  const missing = bytes - Buffer.byteLength(text);
  if (missing < 0) return Buffer.from(words(bytes, random));
  const inside = missing - open.length - close.length;
  return Buffer.from(text + (inside < 0 ? '\n'.repeat(missing) : open + words(inside, random) + close));
}

export const markupComment = ['<!--', '-->'] as const;
export const codeComment = ['/*', '*/'] as const;

/** Creates a script that counts its runs, so that a test knows that it ran. `imports` are module specifiers. */
export function script(bytes: number, imports: readonly string[], random: Random): Buffer {
  const lines = imports.map((specifier) => `import ${JSON.stringify(specifier)};\n`).join('');
  const own = '{const d=document.documentElement.dataset;d.scripts=+(d.scripts||0)+1}\n';
  const text = [lines + own, own, ''].find((candidate) => candidate.length <= bytes) ?? '';
  return padded(text, bytes, codeComment, random);
}

export interface StyleReferences {
  /** URLs relative to the style sheet */
  readonly fonts: readonly string[];
  readonly images: readonly string[];
}

/** Creates a style sheet; undefined when the references do not fit. */
export function styleSheet(bytes: number, { fonts, images }: StyleReferences, random: Random): Buffer | undefined {
  const references = styleRules(fonts, images);
  if (Buffer.byteLength(references) > bytes) return undefined;
  const usual = 'body{margin:0 auto;max-width:72rem;font:16px/1.5 sans-serif}img{max-width:100%;height:auto}\n';
  const text = references.length + usual.length <= bytes ? references + usual : references;
  return padded(text, bytes, codeComment, random);
}

/** Uses the fonts for paragraphs in turn, since browsers request only fonts that they show. */
export function styleRules(fonts: readonly string[], images: readonly string[]): string {
  const faces = fonts.map((url, index) => {
    const family = fontFamily(url);
    return `@font-face{font-family:${family};src:url("${url}")}p:nth-of-type(${fonts.length}n+${index + 1}),.font-${family}{font-family:${family},serif}\n`;
  });
  const backgrounds = images.map(
    (url, index) => `${index === 0 ? 'html' : `p:nth-of-type(${index})`}{background-image:url("${url}")}\n`,
  );
  return [...faces, ...backgrounds].join('');
}

/** Names a family after its file, since several style sheets may name fonts. */
function fontFamily(url: string): string {
  const name = url.slice(url.lastIndexOf('/') + 1).replace(/\.[^.]*$/, '');
  return `f-${name.replace(/[^A-Za-z0-9]/g, '-')}`;
}

export function json(bytes: number, random: Random): Buffer {
  if (bytes < 2) return Buffer.from(words(bytes, random));
  return Buffer.from(`"${words(bytes - 2, random)}"`);
}

export function xml(bytes: number, random: Random): Buffer {
  return padded('<?xml version="1.0"?>\n<sheaf/>\n', bytes, markupComment, random);
}

export function svg(bytes: number, random: Random): Buffer | undefined {
  const colour = (random() >>> 8).toString(16).padStart(6, '0');
  const text = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="48" height="48"><path d="M4 20h16L12 3z" fill="#${colour}"/></svg>`;
  return text.length > bytes ? undefined : padded(text, bytes, markupComment, random);
}

/** Creates a document without references. */
export function plainDocument(bytes: number, title: string, random: Random): Buffer {
  const start = `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>${title}</title>\n<p>`;
  const paragraph = Math.max(0, bytes - start.length - 60);
  return padded(start + words(Math.min(paragraph, 2_000), random), bytes, markupComment, random);
}
