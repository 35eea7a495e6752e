import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { pageDocument, type Reference } from '../content/document.js';
import { font } from '../content/font.js';
import { gif } from '../content/gif.js';
import { jpeg } from '../content/jpeg.js';
import { png } from '../content/png.js';
import { randomBytes, seededRandom, words, type Random } from '../content/random.js';
import { json, plainDocument, script, styleRules, styleSheet, svg, xml } from '../content/text.js';
import { webp } from '../content/webp.js';
import type { PageResource } from '../table/page_table.js';
import { SitePaths, kindOf } from '../table/site_path.js';

/** A resource as a file of the site */
export interface PageFile {
  readonly resource: PageResource;
  /** Path relative to the page's directory, with slashes */
  readonly file: string;
  readonly content: Buffer;
  /** Whether a browser recognizes the content as its type; false when the size is too small for that */
  readonly valid: boolean;
}

/** A page that is being built */
interface Page {
  readonly name: string;
  readonly references: readonly Reference[];
  /** Content of each style sheet, by its file */
  readonly styles: ReadonlyMap<string, Buffer>;
  /** Rules that fit into no style sheet */
  readonly inlineStyle: string;
}

/**
 * Builds the files of a page. Each has exactly the bytes of its table, the same on every machine. Only a document too
 * small for its references grows, which its `content` shows.
 */
export function buildPage(name: string, resources: readonly PageResource[]): PageFile[] {
  const paths = new SitePaths();
  const references = resources.map((resource): Reference => ({ resource, url: paths.take(resource) }));
  const page = { name, references, ...placeStyles(name, references) };
  return references.map(({ resource, url: file }) => {
    const content = contentOf(page, resource, file);
    const random = seededRandom(`${name} ${file} filler`);
    return { resource, file, content: content ?? randomBytes(resource.bytes, random), valid: content !== undefined };
  });
}

/** Writes the page to `directory/name`. @returns that path */
export async function writePage(directory: string, name: string, files: readonly PageFile[]): Promise<string> {
  const home = join(directory, name);
  for (const { file, content } of files) {
    const path = join(home, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  return home;
}

/**
 * Puts the rules with references into the first style sheet that has room for all of them, otherwise into the document.
 */
function placeStyles(name: string, references: readonly Reference[]): Pick<Page, 'styles' | 'inlineStyle'> {
  const named = references.filter(({ resource: { load } }) => load === 'css' || load === 'preload');
  const of = (base: string, isFont: boolean): string[] =>
    named.filter(({ resource }) => (kindOf(resource) === 'font') === isFont).map(({ url }) => posix.relative(base, url));
  const styles = new Map<string, Buffer>();
  let placed = named.length === 0;
  for (const { resource, url } of references) {
    if (kindOf(resource) !== 'css') continue;
    const random = seededRandom(`${name} ${url}`);
    const base = posix.dirname(url);
    const full = placed || resource.load === 'print' ? undefined : styleSheet(resource.bytes, { fonts: of(base, true), images: of(base, false) }, random);
    placed ||= full !== undefined;
    const content = full ?? styleSheet(resource.bytes, { fonts: [], images: [] }, random);
    if (content) styles.set(url, content);
  }
  return { styles, inlineStyle: placed ? '' : styleRules(of('.', true), of('.', false)) };
}

function contentOf({ name, references, styles, inlineStyle }: Page, resource: PageResource, file: string): Buffer | undefined {
  const { bytes, load } = resource;
  const random = seededRandom(`${name} ${file}`);
  switch (kindOf(resource)) {
    case 'html':
      return load === 'document' ? pageDocument(name, bytes, references, inlineStyle, random) : plainDocument(bytes, file, random);
    case 'css':
      return styles.get(file);
    case 'javascript':
      return script(bytes, importsOf(resource, file, references), random);
    case 'font':
      return font(bytes);
    default:
      return dataContent(kindOf(resource), bytes, random);
  }
}

function dataContent(kind: ReturnType<typeof kindOf>, bytes: number, random: Random): Buffer | undefined {
  switch (kind) {
    case 'svg':
      return svg(bytes, random);
    case 'png':
      return png(bytes, random);
    case 'jpeg':
      return jpeg(bytes, random);
    case 'gif':
      return gif(bytes, random);
    case 'webp':
      return webp(bytes, random);
    case 'json':
      return json(bytes, random);
    case 'xml':
      return xml(bytes, random);
    case 'text':
      return Buffer.from(words(bytes, random));
    default:
      return randomBytes(bytes, random);
  }
}

/** Returns the imports of a module. The first module imports all resources that the table marks as imported. */
function importsOf(resource: PageResource, file: string, references: readonly Reference[]): string[] {
  const first = references.find(({ resource: { load } }) => load === 'module');
  if (first?.resource !== resource) return [];
  return references.filter(({ resource: { load } }) => load === 'import').map(({ url }) => relativeSpecifier(file, url));
}

function relativeSpecifier(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
}
