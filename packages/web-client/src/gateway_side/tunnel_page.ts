import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { browserDirectory } from '../browser_files.js';
import type { PageLoaderResource } from './page_loader_resources.js';

const types = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
} as const;

/** The files of the page, of which it shares most with the live page */
const files: ReadonlyMap<string, string> = new Map([
  ['', 'tunnels/index.html'],
  ['tunnels.js', 'tunnels/tunnels.js'],
  ...['live.css', 'charts.css', 'icon.svg', 'fonts/archivo.woff2', 'fonts/martian-mono.woff2'].map(
    (name) => [name, `live/${name}`] as const,
  ),
]);

/** Returns a file of the page that charts tunnels by its path below that of the page; undefined for every other path. */
export async function tunnelPageResource(path: string): Promise<PageLoaderResource | undefined> {
  const file = files.get(path);
  if (file === undefined) return undefined;
  const type = types[file.slice(file.lastIndexOf('.') + 1) as keyof typeof types];
  return {
    headers: {
      'content-type': type,
      'cache-control': 'no-cache',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
    },
    body: await readFile(join(browserDirectory, file)),
  };
}
