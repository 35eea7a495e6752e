import { WELL_KNOWN, WELL_KNOWN_PREFIX } from '@sheaf/web-client/protocol';
import type { PageLoaderSwitch } from '@sheaf/web-client/server';
import type { Logger } from 'pino';
import type { BackendConfiguration } from '../../schema/backends.js';
import type { NodeConfiguration } from '../../schema/node.js';
import type { Target } from '../../http/exchange.js';
import { RequestHandler, type RequestHandlerOptions, type RequestObserver } from '../../http/request_handler.js';
import { TargetUses } from '../../http/target_uses.js';
import type { Tracer } from '../../http/tracer.js';
import { describeListener } from '../front/description.js';
import { WellKnown } from './well_known.js';
import { accessLog } from '../../observability/access_log.js';
import type { Metrics } from '../../observability/metrics.js';
import { combineObservers } from '../../observability/observers.js';
import { compileRoute, type Route } from '../../http/router.js';
import type { CertificateSource } from '../../tls/certificate_source.js';
import { NodeSlowClients } from '../../slow_clients/slow_clients.js';
import { isOriginAllowed, pageApplication } from '../../targets/webtransport/page.js';
import type {
  SessionObserver,
  SessionServerOptions,
  SessionTarget,
} from '../../targets/webtransport/session_server.js';
import type { CompiledRoutes } from './routes.js';

type SiteNode = NodeConfiguration | BackendConfiguration;

/** What a configuration says about requests, beside their routes */
export interface ApplicationRules {
  node: Pick<SiteNode, 'listen' | 'public_url' | 'log' | 'limits'> & { page_loader?: PageLoaderSwitch };
  routes: Pick<CompiledRoutes, 'requests' | 'sessions'>;
}

export interface ApplicationOptions {
  log: Logger;
  tracer?: Tracer | undefined;
  metrics: Metrics;
  certificate: () => CertificateSource;
  quicPort: () => number;
  /** Tells clients which requests the backends of this gateway answer. */
  routeMap?: Target;
  /** Answers requests without a route; on a backend, the gateway does. */
  fallback?: Target;
  /** Name of this node where it is a backend */
  backend?: string;
}

/** Answers requests and sessions of all listeners. A reload replaces its rules, and nothing else. */
export class Application {
  readonly handler: RequestHandler;
  /** Handler for requests that another node proxied here, which are not proxied further */
  readonly proxied: RequestHandler;
  readonly sessions: Omit<SessionServerOptions, 'native'>;
  readonly uses = new TargetUses();
  readonly #options: ApplicationOptions;
  readonly #observer: RequestObserver & SessionObserver;
  readonly #page: Route<SessionTarget>;
  #rules: ApplicationRules;
  readonly #slowClients: NodeSlowClients;

  constructor(options: ApplicationOptions, rules: ApplicationRules) {
    const { metrics, log } = options;
    this.#options = options;
    this.#rules = rules;
    this.#observer = combineObservers([metrics.observer(), ...(rules.node.log.access ? [accessLog(log)] : [])]);
    this.#slowClients = new NodeSlowClients((reason) => metrics.slowClientEnded(reason));
    const { handler, proxied } = this.#handlerOptions(rules);
    this.handler = new RequestHandler(handler);
    this.proxied = new RequestHandler(proxied);
    this.#page = compileRoute({ path: WELL_KNOWN.page_session }, -1, {
      application: { run: pageApplication(this.handler) },
      isOriginAllowed,
    });
    this.sessions = { routes: () => [this.#page, ...this.#rules.routes.sessions], observer: this.#observer, log };
  }

  /** Answers what begins from now on by other rules. */
  use(rules: ApplicationRules): void {
    this.#rules = rules;
    const { handler, proxied } = this.#handlerOptions(rules);
    this.handler.use(handler);
    this.proxied.use(proxied);
  }

  #handlerOptions({ node, routes }: ApplicationRules): Record<'handler' | 'proxied', RequestHandlerOptions> {
    const { log, tracer, certificate, quicPort, routeMap, fallback, backend } = this.#options;
    const { page_loader: pageLoader = 'on' } = node;
    const describe = describeListener(node, certificate, quicPort);
    const common = {
      wellKnownPrefix: WELL_KNOWN_PREFIX,
      maxHeaderBytes: node.limits.header_size,
      observer: this.#observer,
      tracer,
      log,
      timingName: 'sheaf-gateway',
      backend,
      uses: this.uses,
    } as const;
    const last = fallback ? [compileRoute({ path: '/' }, routes.requests.length, fallback)] : [];
    return {
      handler: {
        ...common,
        slowClients: this.#slowClients.by(node.limits),
        wellKnown: new WellKnown(describe, { routes: routeMap ?? fallback, pageLoader }),
        routes: [...routes.requests, ...last],
      },
      proxied: {
        ...common,
        wellKnown: new WellKnown(describe, { routes: routeMap, pageLoader }),
        routes: routes.requests,
      },
    };
  }
}
