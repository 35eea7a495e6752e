import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { browserDirectory } from '../browser_files.js';
import { WELL_KNOWN } from '../protocol/index.js';

/** A resource that the gateway serves with status 200 to GET and HEAD */
export interface PageLoaderResource {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

const SCRIPT = {
  'content-type': 'text/javascript; charset=utf-8',
  // The worker decides how everything else is loaded, so an old one must never be used.
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
};

const FILES: ReadonlyMap<string, { file: string; headers: Readonly<Record<string, string>> }> = new Map([
  [
    WELL_KNOWN.start,
    {
      file: 'start.html',
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; connect-src 'self'; worker-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
      },
    },
  ],
  [WELL_KNOWN.start_script, { file: 'start.js', headers: SCRIPT }],
  [WELL_KNOWN.page_loader, { file: 'page-loader.js', headers: SCRIPT }],
  [
    WELL_KNOWN.worker,
    // The worker's file lies below the prefix, but its scope is the whole origin.
    { file: 'page-worker.js', headers: { ...SCRIPT, 'service-worker-allowed': '/' } },
  ],
]);

/** `off`: browsers get a worker that removes an installed page loader. */
export type PageLoaderSwitch = 'on' | 'off';

/**
 * Returns one of the page loader's own files by its URL path (without query), and undefined for every other path.
 * `certificate-hashes` is not among them, since only the gateway knows its certificate.
 */
export async function pageLoaderResource(
  path: string,
  pageLoader: PageLoaderSwitch = 'on',
): Promise<PageLoaderResource | undefined> {
  const entry = FILES.get(path);
  if (entry === undefined) return undefined;
  const file = path === WELL_KNOWN.worker && pageLoader === 'off' ? 'removal-worker.js' : entry.file;
  const body = await readFile(join(browserDirectory, 'page_loader', file));
  return { headers: entry.headers, body };
}
