import { DEFAULT_STYLE, isStyleName, type StyleName } from '../priority/index.js';
import {
  WELL_KNOWN,
  parseGatewayDescription,
  type GatewayDescription,
} from '../protocol/index.js';

// A worker is stopped when idle and started again without its page: it needs a memory.
const CACHE_NAME = 'sheaf-page-loader';

/** What is remembered: how the gateway is reached, and the order of requests. */
interface Settings {
  readonly description: GatewayDescription;
  readonly style: StyleName;
}

/** The settings: handed over by a page, remembered, fetched when there are none. */
export class Configuration {
  private known: Settings | undefined;

  async set(description: GatewayDescription, style: StyleName): Promise<void> {
    this.known = { description, style };
    const cache = await caches.open(CACHE_NAME);
    await cache.put(WELL_KNOWN.certificate_hashes, Response.json(this.known));
  }

  async get(): Promise<GatewayDescription> {
    const known = await this.recall();
    return known?.description ?? (await this.refresh());
  }

  /** For pages that choose none. */
  async style(): Promise<StyleName> {
    return (await this.recall())?.style ?? DEFAULT_STYLE;
  }

  /** Asks the gateway over the network. @throws TypeError when it does not tell. */
  async refresh(): Promise<GatewayDescription> {
    const response = await fetch(WELL_KNOWN.certificate_hashes, { cache: 'no-store' });
    if (!response.ok) throw new TypeError(`certificate-hashes: status ${response.status}`);
    const description = parseGatewayDescription(await response.json());
    await this.set(description, await this.style());
    return description;
  }

  private async recall(): Promise<Settings | undefined> {
    return (this.known ??= await remembered());
  }
}

async function remembered(): Promise<Settings | undefined> {
  const cache = await caches.open(CACHE_NAME);
  const response = await cache.match(WELL_KNOWN.certificate_hashes);
  if (response === undefined) return undefined;
  try {
    const { description, style } = (await response.json()) as { description: unknown; style: unknown };
    return {
      description: parseGatewayDescription(description),
      style: isStyleName(style) ? style : DEFAULT_STYLE,
    };
  } catch {
    return undefined; // Written by another version of the worker.
  }
}
