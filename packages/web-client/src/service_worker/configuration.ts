import {
  WELL_KNOWN,
  parseGatewayDescription,
  type GatewayDescription,
} from '../protocol/index.js';

// A worker is stopped when idle and started again without its page: it needs a memory.
const CACHE_NAME = 'sheaf-page-loader';

/** The gateway's description: handed over by a page, remembered, fetched when there is none. */
export class Configuration {
  private known: GatewayDescription | undefined;

  async set(description: GatewayDescription): Promise<void> {
    this.known = description;
    const cache = await caches.open(CACHE_NAME);
    await cache.put(WELL_KNOWN.certificate_hashes, Response.json(description));
  }

  async get(): Promise<GatewayDescription> {
    return (this.known ??= (await remembered()) ?? (await this.refresh()));
  }

  /** Asks the gateway over the network. @throws TypeError when it does not tell. */
  async refresh(): Promise<GatewayDescription> {
    const response = await fetch(WELL_KNOWN.certificate_hashes, { cache: 'no-store' });
    if (!response.ok) throw new TypeError(`certificate-hashes: status ${response.status}`);
    const description = parseGatewayDescription(await response.json());
    await this.set(description);
    return description;
  }
}

async function remembered(): Promise<GatewayDescription | undefined> {
  const cache = await caches.open(CACHE_NAME);
  const response = await cache.match(WELL_KNOWN.certificate_hashes);
  if (response === undefined) return undefined;
  try {
    return parseGatewayDescription(await response.json());
  } catch {
    return undefined; // Written by another version of the worker.
  }
}
