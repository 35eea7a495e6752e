import type { Http3Client } from '@sheaf/native';
import { WELL_KNOWN } from '@sheaf/web-client/protocol';
import { routeMapSchema, type RouteMap } from '../protocol/route_map.js';
import { readText } from '../../http/read_text.js';
import { findRoute, compileRoute, type Route } from '../../http/router.js';

/** More than any site has. */
const maxMap = 1024 * 1024;

/** Which backends answer what, as the gateway says; outlives the connection. */
export class RouteMapCache {
  #map: RouteMap | undefined;
  #routes: Route<readonly number[]>[] = [];
  #loading: Promise<void> | undefined;
  /** The version that could not be had: not asked for again and again. */
  #refused: string | undefined;

  get version(): string | undefined {
    return this.#map?.version;
  }

  /** The backends for a request; empty when the gateway answers it, or nobody knows yet. */
  backendsFor(query: { host: string; pathname: string; method: string }): readonly number[] {
    const match = findRoute(this.#routes, query);
    return match.found ? match.route.answer : [];
  }

  /** What a response of the gateway says of its map: `"version"`. */
  learn(header: string, client: Http3Client): void {
    const version = /^"([^"]{1,64})"$/.exec(header)?.[1];
    if (version === undefined || version === this.version || version === this.#refused) return;
    void this.load(client, version);
  }

  /** Never rejects: without a map the gateway answers everything. */
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
