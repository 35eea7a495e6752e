import type { Placement, Resource } from '../priority/index.js';
import { HtmlScanner, type StartTag } from './html_scanner.js';

export type Hint = Pick<Resource, 'placement' | 'fetchPriority'>;

const MAX_HINTS = 2_000;
/** In UTF-16 units. Later markup is far down the page. */
const MAX_SCANNED = 2_000_000;
/** Chromium gives a higher priority to this many images of at least this size, visible or not. */
const EARLY_IMAGES = 5;
const EARLY_PIXELS = 10_000;

/** Hints in the markup of one document about the resources that it will request */
export class PageHints {
  private readonly hints = new Map<string, Hint>();
  private readonly scanner = new HtmlScanner((tag) => this.onTag(tag));
  private scanned = 0;
  private earlyImages = 0;
  private imageSeen = false;
  private base: string;
  private baseSeen = false;

  constructor(url: string) {
    this.base = url;
  }

  /** Returns the hint for a resource of the page; undefined when the markup does not name it (yet). */
  of(url: string): Hint | undefined {
    return this.hints.get(url);
  }

  /** Scans the document while it passes, without changing or delaying it. */
  observe(document: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const decoder = new TextDecoder();
    return document.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          // Scan first: the browser sends requests as soon as it has seen the chunk.
          if (this.scanned < MAX_SCANNED) this.scan(decoder.decode(chunk, { stream: true }));
          controller.enqueue(chunk);
        },
      }),
    );
  }

  private scan(text: string): void {
    this.scanned += text.length;
    this.scanner.push(text);
  }

  private onTag({ name, attributes }: StartTag): void {
    const get = (attribute: string): string => attributes.get(attribute) ?? '';
    const fetchPriority = fetchPriorityOf(get('fetchpriority').toLowerCase());
    const add = (url: string, placement: Placement): void => this.add(url, { placement, fetchPriority });
    switch (name) {
      case 'base':
        if (!this.baseSeen && attributes.has('href')) this.setBase(get('href'));
        return;
      case 'link':
        return this.onLink(get('rel').toLowerCase().split(/\s+/), get('media').toLowerCase(), (placement) =>
          add(get('href'), placement),
        );
      case 'script':
        if (attributes.has('src') && !attributes.has('nomodule')) add(get('src'), this.scriptPlacement(attributes));
        return;
      case 'img':
      case 'image':
        return this.onImage(attributes, add);
      case 'source':
        for (const url of candidates(get('srcset'))) add(url, this.earlyImages < EARLY_IMAGES ? 'early' : 'elsewhere');
        return;
      case 'iframe':
        if (get('loading').toLowerCase() === 'lazy') add(get('src'), 'lazy');
        return;
      case 'video':
        if (attributes.has('poster')) add(get('poster'), 'elsewhere');
        return;
      default:
    }
  }

  private onLink(relations: readonly string[], media: string, add: (placement: Placement) => void): void {
    if (relations.includes('stylesheet')) {
      if (!relations.includes('alternate')) add(/^(|all|screen.*|\(.*)$/.test(media.trim()) ? 'blocking' : 'deferred');
    } else if (relations.includes('preload') || relations.includes('modulepreload')) {
      add('preload');
    } else if (relations.includes('prefetch')) {
      add('prefetch');
    }
  }

  private scriptPlacement(attributes: ReadonlyMap<string, string>): Placement {
    if (attributes.has('async') || attributes.has('defer') || attributes.get('type')?.toLowerCase() === 'module')
      return 'deferred';
    return this.imageSeen ? 'late' : 'blocking';
  }

  private onImage(attributes: ReadonlyMap<string, string>, add: (url: string, placement: Placement) => void): void {
    this.imageSeen = true;
    const lazy = attributes.get('loading')?.toLowerCase() === 'lazy';
    const area = Number(attributes.get('width') ?? NaN) * Number(attributes.get('height') ?? NaN);
    const early = !lazy && this.earlyImages < EARLY_IMAGES && !(area < EARLY_PIXELS);
    if (early) this.earlyImages += 1;
    const placement = lazy ? 'lazy' : early ? 'early' : 'elsewhere';
    for (const url of [attributes.get('src') ?? '', ...candidates(attributes.get('srcset') ?? '')]) add(url, placement);
  }

  private setBase(href: string): void {
    this.baseSeen = true;
    if (URL.canParse(href, this.base)) this.base = new URL(href, this.base).href;
  }

  private add(reference: string, hint: Hint): void {
    // Decodes `&amp;`, the only character reference that URLs in markup usually contain.
    const url = reference.trim().replaceAll('&amp;', '&');
    if (url === '' || url.startsWith('data:') || this.hints.size >= MAX_HINTS || !URL.canParse(url, this.base)) return;
    const absolute = new URL(url, this.base);
    absolute.hash = '';
    if (!this.hints.has(absolute.href)) this.hints.set(absolute.href, hint);
  }
}

function fetchPriorityOf(value: string): Hint['fetchPriority'] {
  return value === 'high' || value === 'low' ? value : 'auto';
}

/** Returns the URLs of a `srcset` (HTML standard, "parsing a srcset attribute"), which may contain commas but not end with one. */
function candidates(srcset: string): string[] {
  const urls: string[] = [];
  let isDescriptor = false;
  for (const word of srcset.split(/\s+/)) {
    const comma: number = isDescriptor ? word.indexOf(',') : -1;
    if (isDescriptor && comma === -1) continue;
    const url: string = word.slice(comma + 1).replace(/^,+/, '');
    let end: number = url.length;
    while (url[end - 1] === ',') end -= 1;
    if (end > 0) urls.push(url.slice(0, end));
    isDescriptor = end > 0 && end === url.length;
  }
  return urls;
}
