import { DEFAULT_STYLE, isStyleName, type StyleName } from '../priority/index.js';
import { WELL_KNOWN, isLoopback, parseGatewayDescription, type GatewayDescription } from '../protocol/index.js';
import { SETTINGS_CACHE } from './removal.js';

/** Settings that are remembered: how to reach the gateway, and the order of requests */
interface Settings {
  readonly description: GatewayDescription;
  readonly style: StyleName;
}

/** The gateway does not serve this site, or the site no longer wants the page loader. */
export class PageLoaderUnwanted extends Error {
  override readonly name = 'PageLoaderUnwanted';
}

/**
 * The settings of the worker. Only the gateway itself tells how it is reached, never a page: a script injected into a
 * page could otherwise redirect all requests permanently. The description is remembered, since a worker is stopped when
 * idle and started again without its page.
 */
export class Configuration {
  private known: Settings | undefined;

  /** `host` is the worker's own host, with its port. */
  constructor(private readonly host: string) {}

  async get(): Promise<GatewayDescription> {
    const known = await this.recall();
    return known?.description ?? (await this.refresh());
  }

  /** Returns the style for pages that choose none. */
  async style(): Promise<StyleName> {
    return (await this.recall())?.style ?? DEFAULT_STYLE;
  }

  async setStyle(style: StyleName): Promise<void> {
    await this.remember({ description: await this.get(), style });
  }

  /**
   * Fetches the description from the gateway over the network.
   * @throws PageLoaderUnwanted; TypeError when the gateway cannot be reached or its response is invalid
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
      return undefined; // Another version of the worker wrote it, or a page's script.
    }
  }

  /**
   * Checks that only the port differs from the worker's own, since pages can write to the storage that is read here.
   */
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
