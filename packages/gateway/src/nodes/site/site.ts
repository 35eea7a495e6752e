import type { Target } from '../../http/exchange.js';
import type { RouteStatus } from '../../observability/status.js';
import type { UpstreamStatus } from '../../targets/upstream/upstream_group.js';
import { orAborted, type Prepared } from '../life/reload.js';
import { Application, type ApplicationOptions, type ApplicationRules } from './application.js';
import {
  allUpstreams,
  compileRoutes,
  refreshRoutes,
  reportRoutes,
  type CompiledRoutes,
  type RoutesOptions,
} from './routes.js';

type SiteConfiguration = RoutesOptions['node'] & ApplicationRules['node'];

export interface SiteParts extends ApplicationOptions {
  toBackends?: RoutesOptions['toBackends'];
  links?: RoutesOptions['links'];
}

/** The routes of a node with their targets, and what answers clients by them */
export class Site {
  readonly application: Application;
  readonly #options: SiteParts;
  #node: SiteConfiguration;
  #routes: CompiledRoutes;
  /** Targets that no route leads to any more, with requests in flight */
  readonly #retired = new Set<Target>();

  /** Opens the targets. They are not started yet. @throws UserError */
  static async open(node: SiteConfiguration, options: SiteParts): Promise<Site> {
    const { log, links, toBackends } = options;
    return new Site(node, options, await compileRoutes({ node, log, links, toBackends }));
  }

  private constructor(node: SiteConfiguration, options: SiteParts, routes: CompiledRoutes) {
    this.#node = node;
    this.#options = options;
    this.#routes = routes;
    this.application = new Application(options, { node, routes });
  }

  /** Routes whose broadcasts a channel carries, by the name of the channel */
  get carried(): CompiledRoutes['carried'] {
    return this.#routes.carried;
  }

  get upstreams(): UpstreamStatus[] {
    return allUpstreams(this.#routes);
  }

  status(): RouteStatus[] {
    return reportRoutes(this.#node, this.#routes);
  }

  /** Rereads what may have changed outside of the configuration. */
  refresh(): Promise<void> {
    return refreshRoutes(this.#routes);
  }

  /** Starts the targets. Resolves with their warnings. */
  start(): Promise<string[]> {
    return this.#routes.targets.start();
  }

  /** Opens and starts the targets that another configuration adds. @throws UserError */
  async prepare(node: SiteConfiguration, signal?: AbortSignal): Promise<Prepared> {
    const { log, links, toBackends } = this.#options;
    const routes = await compileRoutes({ node, log, links, toBackends, before: this.#routes.targets });
    const abandon = (): Promise<void> => routes.targets.abandon();
    try {
      // What starts now would take the place of what serves by then.
      signal?.throwIfAborted();
      const warnings = await orAborted(routes.targets.start(), signal);
      return { warnings, commit: () => this.#use(node, routes), abandon };
    } catch (error) {
      await abandon();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#routes.targets.close();
    await Promise.all([...this.#retired].map(async (target) => target.close?.()));
  }

  #use(node: SiteConfiguration, routes: CompiledRoutes): void {
    const { application } = this;
    const before = this.#routes.targets;
    this.#node = node;
    this.#routes = routes;
    application.use({ node, routes });
    for (const target of before.missingFrom(routes.targets)) this.#retire(target);
  }

  /** Closes a target once the requests that began with it have ended. */
  #retire(target: Target): void {
    this.#retired.add(target);
    this.application.uses.whenUnused(target, () => {
      this.#retired.delete(target);
      target.close?.().catch((error: unknown) => this.#options.log.warn({ err: error }, 'a target did not close'));
    });
  }
}
