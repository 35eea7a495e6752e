import type { Http3Client } from '@sheaf/native';
import { WELL_KNOWN } from '@sheaf/web-client/protocol';
import { routeMapSchema, type RouteMap } from '../protocol/route_map.js';
import { readText } from '../../http/read_text.js';
import { findRoute, compileRoute, type Route } from '../../http/router.js';

/** Maximum size of a route map in bytes, more than any site needs */
const maxMap = 1024 * 1024;

/** Tells which backends answer which requests, as the gateway publishes it. Outlives the connection. */
export class RouteMapCache {
  #map: RouteMap | undefined;
  #routes: Route<readonly number[]>[] = [];
  #loading: Promise<void> | undefined;
  /** Version that could not be loaded, and is not requested again */
  #refused: string | undefined;

  get version(): string | undefined {
    return this.#map?.version;
  }

  /** Returns the backends for a request; empty when the gateway answers it, or no map is loaded yet. */
  backendsFor(query: { host: string; pathname: string; method: string }): readonly number[] {
    const match = findRoute(this.#routes, query);
    return match.found ? match.route.answer : [];
  }

  /** Loads the map if a response of the gateway names a new version: `"version"`. */
  learn(header: string, client: Http3Client): void {
    const version = /^"([^"]{1,64})"$/.exec(header)?.[1];
    if (version === undefined || version === this.version || version === this.#refused) return;
    void this.load(client, version);
  }

  /** Loads the map. Never rejects: without a map the gateway answers everything. */
  load(client: Http3Client, version?: string): Promise<void> {
    this.#loading ??= this.#load(client)
      .catch(() => void (this.#refused = version))
      .finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #load(client: Http3Client): Promise<void> {
    const { version } = this;
    const response = await client.request({
      path: WELL_KNOWN.routes,
      headers: version === undefined ? {} : { 'if-none-match': `"${version}"` },
    });
    if (response.status === 304) return void response.resume();
    if (response.status !== 200) {
      response.resume();
      throw new Error(`the route map has the status ${response.status}`);
    }
    const map = routeMapSchema.parse(JSON.parse(await readText(response, maxMap)));
    this.#routes = map.routes.map(({ backends, ...matching }, index) => compileRoute(matching, index, backends));
    this.#map = map;
  }
}
