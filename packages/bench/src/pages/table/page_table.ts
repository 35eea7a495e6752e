import { UserError } from '@sheaf/gateway';

/** The classes by which browsers sort resources, as the published measurements detected them */
export const resourceClasses = ['html', 'css', 'javascript', 'image', 'font', 'xhr', 'other'] as const;

/** The ways in which a page requests a resource */
export const resourceLoads = [
  'document',
  'frame',
  'style',
  'print',
  'script',
  'late',
  'async',
  'defer',
  'module',
  /** Imported by the page's first module */
  'import',
  /** A font that the head names and a style sheet uses */
  'preload',
  /** Named by a style sheet */
  'css',
  /** An image that is requested at once: `fetchpriority=high` */
  'hero',
  'image',
  'lazy',
  'fetch',
] as const;

export interface PageResource {
  /** Path on the site; `//host/path` on another host */
  readonly path: string;
  readonly bytes: number;
  readonly type: string;
  readonly class: (typeof resourceClasses)[number];
  readonly load: (typeof resourceLoads)[number];
}

const head = ['path', 'bytes', 'type', 'class', 'load'].join('\t');

/** Limits for tables from elsewhere */
export const tableLimits = {
  resources: 2_000,
  resourceBytes: 32 * 2 ** 20,
  pageBytes: 128 * 2 ** 20,
  path: 2_048,
} as const;

/** Reads a page's table: tab-separated, the document first. @throws UserError with the line */
export function parsePageTable(text: string, name: string): PageResource[] {
  const lines = text.split('\n').filter((line) => line !== '');
  const fail = (line: number, what: string): never => {
    throw new UserError('PAGE_TABLE', `${name}:${line}: ${what}`, {
      hint: `a line is ${head.replaceAll('\t', ', ')}, separated by tabs`,
    });
  };
  if (lines[0] !== head) fail(1, 'not the head of a page table');
  if (lines.length - 1 > tableLimits.resources)
    fail(tableLimits.resources + 2, `more than ${tableLimits.resources} resources`);
  const resources = lines.slice(1).map((line, index): PageResource => {
    const [path = '', bytes = '', type = '', kind = '', load = '', ...more] = line.split('\t');
    const number = index + 2;
    if (path === '' || path.length > tableLimits.path || more.length > 0) fail(number, 'not five fields');
    if (!/^\d{1,9}$/.test(bytes) || Number(bytes) > tableLimits.resourceBytes)
      fail(number, `${bytes} is no size in bytes`);
    if (!isOneOf(resourceClasses, kind)) return fail(number, `there is no class ${kind}`);
    if (!isOneOf(resourceLoads, load)) return fail(number, `there is no load ${load}`);
    if ((load === 'document') !== (index === 0)) fail(number, 'the document is the first resource, and the only one');
    return { path, bytes: Number(bytes), type, class: kind, load };
  });
  if (resources.length === 0) fail(2, 'no document');
  if (resources.reduce((sum, { bytes }) => sum + bytes, 0) > tableLimits.pageBytes)
    fail(lines.length, 'the page is too large');
  return resources;
}

/** Formats a table, the inverse of {@link parsePageTable}. */
export function formatPageTable(resources: readonly PageResource[]): string {
  const lines = resources.map(({ path, bytes, type, class: kind, load }) => [path, bytes, type, kind, load].join('\t'));
  return [head, ...lines, ''].join('\n');
}

function isOneOf<Value extends string>(values: readonly Value[], text: string): text is Value {
  return (values as readonly string[]).includes(text);
}
