import { UserError } from '@sheaf/gateway';
import { tableLimits, type PageResource } from '../table/page_table.js';
import type { HarEntries, HarEntry } from './har.js';

export interface RecordedPage {
  readonly resources: readonly PageResource[];
  /** Number of entries left out of the page, by reason */
  readonly leftOut: Readonly<Record<string, number>>;
}

/**
 * Returns the resources of the first page of a HAR file, with their sizes on the wire. Contents are not copied: they
 * may belong to anybody, and only sizes, types and order matter. @throws UserError `HAR_INVALID`
 */
export function recordPage({ entries, malformed }: HarEntries, name: string): RecordedPage {
  const leftOut: Record<string, number> = malformed > 0 ? { malformed } : {};
  const document = entries.find((entry) => isDocument(entry) && reasonToLeaveOut(entry) === undefined);
  if (!document)
    throw new UserError('HAR_INVALID', `${name} holds no page`, {
      hint: 'save it after a page has been loaded, with its document',
    });
  const page = new URL(document.request.url);
  const resources = [resourceOf(document, page, true)];
  const seen = new Set([withoutFragment(document.request.url)]);
  let total = resources[0]!.bytes;
  for (const entry of entries) {
    if (entry === document) continue;
    const reason =
      reasonToLeaveOut(entry) ??
      leftOutOfPage(entry, document, seen) ??
      (resources.length >= tableLimits.resources ? 'beyond the limit' : undefined);
    const resource = reason === undefined ? resourceOf(entry, page, false) : undefined;
    if (resource && total + resource.bytes <= tableLimits.pageBytes) {
      seen.add(withoutFragment(entry.request.url));
      total += resource.bytes;
      resources.push(resource);
    } else {
      const why = reason ?? 'beyond the limit';
      leftOut[why] = (leftOut[why] ?? 0) + 1;
    }
  }
  return { resources, leftOut };
}

function isDocument({ _resourceType, response }: HarEntry): boolean {
  return _resourceType === undefined
    ? mediaType(response.content.mimeType) === 'text/html'
    : _resourceType === 'document';
}

function reasonToLeaveOut({ request, response }: HarEntry): string | undefined {
  if (!/^https?:\/\//i.test(request.url) || !URL.canParse(request.url)) return 'no http URL';
  if (pathOf(new URL(request.url), undefined).length > tableLimits.path) return 'long URL';
  if (request.method !== 'GET') return 'other method';
  if (response.status < 200 || response.status > 299) return 'no content';
  return wireBytes(response) > tableLimits.resourceBytes ? 'too large' : undefined;
}

function leftOutOfPage(entry: HarEntry, document: HarEntry, seen: ReadonlySet<string>): string | undefined {
  if (entry.pageref !== document.pageref) return 'other page';
  if (entry._resourceType === 'websocket' || entry._resourceType === 'eventsource') return 'no end';
  return seen.has(withoutFragment(entry.request.url)) ? 'repeated' : undefined;
}

function resourceOf(entry: HarEntry, page: URL, isPage: boolean): PageResource {
  const type = mediaType(entry.response.content.mimeType);
  const bytes = wireBytes(entry.response);
  return {
    path: pathOf(new URL(entry.request.url), page),
    bytes,
    type,
    ...(isPage ? { class: 'html', load: 'document' } : useOf(entry, type)),
  };
}

/** Returns the coded size on the wire, or the length if the browser did not record that size. */
function wireBytes({ bodySize = -1, content }: HarEntry['response']): number {
  return Math.max(0, Math.floor(bodySize > 0 ? bodySize : (content.size ?? 0)));
}

/**
 * Returns a path relative to the site of the page, or with the host for other sites. URLs encode characters that a
 * table cannot hold.
 */
function pathOf(url: URL, page: URL | undefined): string {
  const path = url.pathname + url.search;
  return url.host === page?.host ? path.replace(/^\/+/, '') || 'index' : `//${url.host}${path}`;
}

function useOf(entry: HarEntry, type: string): Pick<PageResource, 'class' | 'load'> {
  const kind = entry._resourceType ?? kindOfType(type);
  switch (kind) {
    case 'document':
      return { class: 'html', load: 'frame' };
    case 'stylesheet':
      return { class: 'css', load: entry._priority === 'VeryLow' ? 'print' : 'style' };
    case 'script':
      return { class: 'javascript', load: scriptLoad(entry) };
    case 'image':
      return { class: 'image', load: imageLoad(entry) };
    case 'font':
      return {
        class: 'font',
        load: entry._initiator?.type === 'parser' && !isStyleSheet(entry._initiator.url) ? 'preload' : 'css',
      };
    case 'xhr':
    case 'fetch':
      return { class: 'xhr', load: 'fetch' };
    default:
      return { class: 'other', load: 'fetch' };
  }
}

/**
 * Derives how a script is loaded. Chromium's priorities distinguish blocking scripts (High), those of the body (Medium)
 * and others (Low).
 */
function scriptLoad({ _priority, _initiator }: HarEntry): PageResource['load'] {
  if (_initiator?.type === 'script') return 'async';
  switch (_priority) {
    case 'High':
    case 'VeryHigh':
      return 'script';
    case 'Medium':
      return 'late';
    default:
      return 'async';
  }
}

function imageLoad({ _initiator, _priority }: HarEntry): PageResource['load'] {
  if (isStyleSheet(_initiator?.url)) return 'css';
  return _priority === 'VeryLow' ? 'lazy' : 'image';
}

function isStyleSheet(url: string | undefined): boolean {
  return url !== undefined && /\.css(\?|$)/.test(url);
}

/** Returns the kind for browsers that do not record what they requested. */
function kindOfType(type: string): string {
  if (type === 'text/html') return 'document';
  if (type === 'text/css') return 'stylesheet';
  if (/javascript|ecmascript/.test(type)) return 'script';
  if (type.startsWith('image/')) return 'image';
  if (/^font\/|font-/.test(type)) return 'font';
  return /[/+](json|xml)$/.test(type) ? 'xhr' : 'other';
}

function mediaType(value: string | undefined): string {
  const type = (value ?? '').split(';', 1)[0]!.trim().toLowerCase();
  return /^[a-z0-9.+-]+\/[a-z0-9.+-]+$/.test(type) ? type : 'application/octet-stream';
}

function withoutFragment(url: string): string {
  return url.split('#', 1)[0]!;
}
