import { createHash } from 'node:crypto';
import type { PageResource } from './page_table.js';

/** Format of a file's content, whatever its name */
export type Kind =
  'html' | 'css' | 'javascript' | 'json' | 'xml' | 'svg' | 'png' | 'jpeg' | 'gif' | 'webp' | 'font' | 'text' | 'binary';

/** Endings by which the gateway derives the right content type. Files with another ending get the first. */
const endings: Readonly<Record<Kind, readonly string[]>> = {
  html: ['.html', '.htm'],
  css: ['.css'],
  javascript: ['.js', '.mjs'],
  json: ['.json'],
  xml: ['.xml'],
  svg: ['.svg'],
  png: ['.png'],
  jpeg: ['.jpg', '.jpeg'],
  gif: ['.gif'],
  webp: ['.webp'],
  font: ['.woff2', '.woff', '.ttf', '.otf'],
  text: ['.txt', '.md'],
  binary: ['.bin'],
};

/** Returns the kind of a resource. Its use in the page matters more than its name. */
export function kindOf({ load, type, class: resourceClass }: PageResource): Kind {
  switch (load) {
    case 'document':
    case 'frame':
      return 'html';
    case 'style':
    case 'print':
      return 'css';
    case 'script':
    case 'late':
    case 'async':
    case 'defer':
    case 'module':
    case 'import':
      return 'javascript';
    case 'preload':
      return 'font';
    case 'css':
      return resourceClass === 'font' ? 'font' : imageKind(type);
    case 'hero':
    case 'image':
    case 'lazy':
      return imageKind(type);
    case 'fetch':
      return dataKind(type);
  }
}

/** Returns the kind of an image. Browsers detect an image by its content, so other types become PNG. */
function imageKind(type: string): Kind {
  switch (type) {
    case 'image/svg+xml':
      return 'svg';
    case 'image/jpeg':
      return 'jpeg';
    case 'image/gif':
      return 'gif';
    case 'image/webp':
      return 'webp';
    default:
      return 'png';
  }
}

function dataKind(type: string): Kind {
  if (type.startsWith('image/')) return imageKind(type);
  if (type === 'text/html') return 'html';
  if (/[/+]json$/.test(type)) return 'json';
  if (/[/+]xml$/.test(type)) return 'xml';
  return type.startsWith('text/') ? 'text' : 'binary';
}

const maxSegment = 80;
const maxDepth = 12;

/** Assigns every resource of a page a file below the page's directory. No name leads out of it. */
export class SitePaths {
  private readonly files = new Set<string>(['index.html']);
  private readonly directories = new Set<string>();

  /** Returns a file name: `index.html` for the document, and for others their path, as far as file names allow. */
  take(resource: PageResource): string {
    if (resource.load === 'document') return 'index.html';
    const wanted = safePath(resource.path, kindOf(resource));
    const file = this.isFree(wanted) ? wanted : this.flat(wanted);
    this.files.add(file.toLowerCase());
    for (const directory of directoriesOf(file)) this.directories.add(directory.toLowerCase());
    return file;
  }

  private flat(wanted: string): string {
    for (let number = 1; ; number += 1) {
      const file = `${number}-${wanted.slice(wanted.lastIndexOf('/') + 1)}`;
      if (this.isFree(file)) return file;
    }
  }

  private isFree(path: string): boolean {
    const file = path.toLowerCase();
    return (
      !this.files.has(file) &&
      !this.directories.has(file) &&
      !directoriesOf(file).some((directory) => this.files.has(directory))
    );
  }
}

function directoriesOf(file: string): string[] {
  const segments = file.split('/').slice(0, -1);
  return segments.map((_, index) => segments.slice(0, index + 1).join('/'));
}

function safePath(path: string, kind: Kind): string {
  const [plain = '', query] = path.split('?', 2);
  const host = plain.startsWith('//') ? ['hosts'] : [];
  const segments = [...host, ...plain.split('/')].map(safeSegment).filter((segment) => segment !== '');
  const short = segments.length > maxDepth ? [hashOf(plain), ...segments.slice(-1)] : segments;
  const name = short.pop() ?? 'index';
  // Different queries are different resources.
  const distinct = query === undefined ? name : `${name}-${hashOf(query)}`;
  return [...short, withEnding(distinct, kind)].join('/');
}

function safeSegment(segment: string): string {
  const safe = segment.replace(/[^A-Za-z0-9._=,@~-]/g, '_').replace(/^\.+/, '_');
  return safe.length > maxSegment ? `${safe.slice(0, 40)}-${hashOf(segment)}` : safe;
}

function withEnding(name: string, kind: Kind): string {
  return endings[kind].some((ending) => name.toLowerCase().endsWith(ending)) ? name : name + endings[kind][0]!;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 10);
}
