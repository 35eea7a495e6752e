import {
  DEFAULT_STYLE,
  FIRST_STREAM_NODE,
  classOfDestination,
  createPrioritizer,
  isStyleName,
  type Prioritizer,
  type StyleName,
} from '../priority/index.js';
import { PRIORITY_LIMITS, type StreamPriority } from '../protocol/index.js';
import { PageHints } from './page_hints.js';

/** Query parameter of a page's URL that chooses the style of its load */
export const STYLE_PARAMETER = 'sheaf-style';

/** Number of pages whose markup is remembered. A page that is still loading is among the latest. */
const MAX_PAGES = 32;

/** The requester, by members of a FetchEvent */
export interface Asker {
  readonly clientId: string;
  /** Client of the page that a navigation creates */
  readonly resultingClientId: string;
}

/** A request's place in the order, as long as it is in flight */
export interface Place {
  readonly priority: StreamPriority;
  /** Hints of the document that it loads; undefined for other requests */
  readonly hints: PageHints | undefined;
  release(): void;
}

/** A document that is loading, or has loaded */
interface Page {
  readonly hints: PageHints;
  readonly style: StyleName;
}

/** Gives each request its priority, by the style of its page load and the hints in the page's markup. */
export class RequestOrder {
  /** Style for pages that choose none */
  defaultStyle: StyleName = DEFAULT_STYLE;

  /** Style of the latest page, for unknown clients and for frames, whose parent a worker does not learn */
  private latestStyle: StyleName = DEFAULT_STYLE;
  private lastNode = FIRST_STREAM_NODE - 1;
  private readonly pages = new Map<string, Page>();
  private readonly prioritizers = new Map<StyleName, Prioritizer>();

  place(request: Pick<Request, 'url' | 'destination'>, asker: Asker): Place {
    const { url, destination } = request;
    if (destination === 'document') this.latestStyle = styleOf(url) ?? this.defaultStyle;
    const page = this.pages.get(asker.clientId);
    const style = destination === 'document' ? this.latestStyle : (page?.style ?? this.latestStyle);
    const hint = page?.hints.of(withoutFragment(url));
    const hints = isDocument(destination) ? this.remember(asker.resultingClientId, url, style) : undefined;
    const prioritizer = this.prioritizer(style);
    const node = this.nextNode();
    const priority = prioritizer.assign(
      {
        class: classOfDestination(destination),
        placement: hints && destination !== 'document' ? 'framed' : 'elsewhere',
        fetchPriority: 'auto',
        ...hint,
      },
      node,
    );
    return { priority, hints, release: () => prioritizer.release(node) };
  }

  private prioritizer(style: StyleName): Prioritizer {
    const known = this.prioritizers.get(style);
    if (known) return known;
    const created = createPrioritizer(style);
    this.prioritizers.set(style, created);
    return created;
  }

  private nextNode(): number {
    this.lastNode = this.lastNode < PRIORITY_LIMITS.node ? this.lastNode + 1 : FIRST_STREAM_NODE;
    return this.lastNode;
  }

  private remember(client: string, url: string, style: StyleName): PageHints {
    const hints = new PageHints(url);
    this.pages.set(client, { hints, style });
    const [oldest] = this.pages.keys();
    if (this.pages.size > MAX_PAGES && oldest !== undefined) this.pages.delete(oldest);
    return hints;
  }
}

function isDocument(destination: string): boolean {
  return destination === 'document' || destination === 'iframe' || destination === 'frame';
}

function styleOf(url: string): StyleName | undefined {
  const wanted = new URL(url).searchParams.get(STYLE_PARAMETER);
  return isStyleName(wanted) ? wanted : undefined;
}

function withoutFragment(url: string): string {
  const position = url.indexOf('#');
  return position === -1 ? url : url.slice(0, position);
}
