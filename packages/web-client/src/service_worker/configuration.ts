import { DEFAULT_STYLE, isStyleName, type StyleName } from '../priority/index.js';
import { WELL_KNOWN, isLoopback, parseGatewayDescription, type GatewayDescription } from '../protocol/index.js';
import { SETTINGS_CACHE } from './removal.js';

/** What is remembered: how the gateway is reached, and the order of requests. */
interface Settings {
  readonly description: GatewayDescription;
  readonly style: StyleName;
}

/** The gateway does not serve this site, or the site does not want the page loader any more. */
export class PageLoaderUnwanted extends Error {
  override readonly name = 'PageLoaderUnwanted';
}

/**
 * The settings. How the gateway is reached is the gateway's own word, fetched from it and never taken
 * from a page: a script that got into a page could lead all requests elsewhere, for good. What was
 * fetched is remembered, since a worker is stopped when idle and started again without its page.
 */
export class Configuration {
  private known: Settings | undefined;

  /** `host` is the worker's own, with its port. */
  constructor(private readonly host: string) {}

  async get(): Promise<GatewayDescription> {
    const known = await this.recall();
    return known?.description ?? (await this.refresh());
  }

  /** For pages that choose none. */
  async style(): Promise<StyleName> {
    return (await this.recall())?.style ?? DEFAULT_STYLE;
  }

  async setStyle(style: StyleName): Promise<void> {
    await this.remember({ description: await this.get(), style });
  }

  /**
   * Asks the gateway over the network.
   * @throws PageLoaderUnwanted; TypeError when the gateway cannot be reached or says something else.
   */
  async refresh(): Promise<GatewayDescription> {
    const response = await fetch(WELL_KNOWN.certificate_hashes, { cache: 'no-store' });
    if (response.status === 404 || response.status === 410) throw new PageLoaderUnwanted(`status ${response.status}`);
    if (!response.ok) throw new TypeError(`certificate-hashes: status ${response.status}`);
    const description = this.accept(await response.json());
    if (description.page_loader === 'off') throw new PageLoaderUnwanted('switched off');
    await this.remember({ description, style: await this.style() });
    return description;
  }

  private async remember(settings: Settings): Promise<void> {
    this.known = settings;
    const cache = await caches.open(SETTINGS_CACHE);
    await cache.put(WELL_KNOWN.certificate_hashes, Response.json(settings));
  }

  private async recall(): Promise<Settings | undefined> {
    return (this.known ??= await this.remembered());
  }

  private async remembered(): Promise<Settings | undefined> {
    const cache = await caches.open(SETTINGS_CACHE);
    const response = await cache.match(WELL_KNOWN.certificate_hashes);
    if (response === undefined) return undefined;
    try {
      const { description, style } = (await response.json()) as { description: unknown; style: unknown };
      return { description: this.accept(description), style: isStyleName(style) ? style : DEFAULT_STYLE };
    } catch {
      return undefined; // Written by another version of the worker, or by a page's script.
    }
  }

  /** Only the port may differ from the worker's own: pages can write to the memory that is read here. */
  private accept(value: unknown): GatewayDescription {
    const description = parseGatewayDescription(value);
    const own = new URL(`https://${this.host}/`).hostname;
    const named = new URL(`https://${description.authority ?? this.host}/`).hostname;
    if (named !== own && !(isLoopback(named) && isLoopback(own))) {
      throw new TypeError(`authority: ${named} is not the host of this site`);
    }
    return description;
  }
}
