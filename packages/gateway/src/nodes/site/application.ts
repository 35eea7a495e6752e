import { WELL_KNOWN, WELL_KNOWN_PREFIX } from '@sheaf/web-client/protocol';
import type { PageLoaderSwitch } from '@sheaf/web-client/server';
import type { Logger } from 'pino';
import type { BackendConfiguration } from '../../schema/backends.js';
import type { NodeConfiguration } from '../../schema/node.js';
import type { Target } from '../../http/exchange.js';
import type { Tracer } from '../../http/tracer.js';
import { RequestHandler } from '../../http/request_handler.js';
import { describeListener } from '../front/description.js';
import { WellKnown } from './well_known.js';
import { accessLog } from '../../observability/access_log.js';
import type { Metrics } from '../../observability/metrics.js';
import { combineObservers } from '../../observability/observers.js';
import { compileRoute } from '../../http/router.js';
import type { CertificateSource } from '../../tls/certificate_source.js';
import { watchSlowClients } from '../../slow_clients/slow_clients.js';
import { isOriginAllowed, pageApplication } from '../../targets/webtransport/page.js';
import type { SessionServerOptions } from '../../targets/webtransport/session_server.js';
import type { CompiledRoutes } from './routes.js';

/** Answers requests and sessions of all listeners. */
export interface Application {
  handler: RequestHandler;
  /** Handler for requests that another node proxied here, which are not proxied further */
  proxied: RequestHandler;
  sessions: Omit<SessionServerOptions, 'native'>;
}

export interface ApplicationOptions {
  node: Pick<NodeConfiguration | BackendConfiguration, 'listen' | 'public_url' | 'log' | 'limits'>;
  log: Logger;
  tracer?: Tracer | undefined;
  routes: CompiledRoutes;
  metrics: Metrics;
  certificate: CertificateSource;
  quicPort: () => number;
  pageLoader?: PageLoaderSwitch;
  /** Tells clients which requests the backends of this gateway answer. */
  routeMap?: Target;
  /** Answers requests without a route; on a backend, the gateway does. */
  fallback?: Target;
  /** Name of this node where it is a backend */
  backend?: string;
}

export function createApplication(options: ApplicationOptions): Application {
  const {
    node,
    log,
    tracer,
    routes,
    metrics,
    certificate,
    quicPort,
    routeMap,
    fallback,
    backend,
    pageLoader = 'on',
  } = options;
  const observer = combineObservers([metrics.observer(), ...(node.log.access ? [accessLog(log)] : [])]);
  const describe = describeListener(node, certificate, quicPort);
  const common = {
    wellKnownPrefix: WELL_KNOWN_PREFIX,
    maxHeaderBytes: node.limits.header_size,
    observer,
    tracer,
    log,
    timingName: 'sheaf-gateway',
    backend,
  } as const;
  const slowClients = watchSlowClients(node.limits, (reason) => metrics.slowClientEnded(reason));
  const last = fallback ? [compileRoute({ path: '/' }, routes.requests.length, fallback)] : [];
  const handler = new RequestHandler({
    ...common,
    slowClients,
    wellKnown: new WellKnown(describe, { routes: routeMap ?? fallback, pageLoader }),
    routes: [...routes.requests, ...last],
  });
  const proxied = new RequestHandler({
    ...common,
    wellKnown: new WellKnown(describe, { routes: routeMap, pageLoader }),
    routes: routes.requests,
  });
  const page = compileRoute({ path: WELL_KNOWN.page_session }, -1, {
    application: { run: pageApplication(handler) },
    isOriginAllowed,
  });
  return { handler, proxied, sessions: { routes: [page, ...routes.sessions], observer, log } };
}
