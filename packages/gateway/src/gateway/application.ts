import { WELL_KNOWN, WELL_KNOWN_PREFIX } from '@sheaf/web-client/protocol';
import type { Logger } from 'pino';
import type { NodeConfiguration } from '../configuration/node.js';
import type { Exchange } from '../http/exchange.js';
import { RequestHandler } from '../http/request_handler.js';
import { WellKnown, type GatewayDescription } from '../http/well_known.js';
import { formatAddress } from '../listeners/listen_error.js';
import { accessLog } from '../observability/access_log.js';
import type { Metrics } from '../observability/metrics.js';
import { combineObservers } from '../observability/observers.js';
import { compileRoute, hostName } from '../routing/router.js';
import type { CertificateSource } from '../tls/certificate_source.js';
import { isOriginAllowed, pageApplication } from '../webtransport/page.js';
import type { SessionServerOptions } from '../webtransport/session_server.js';
import { isWildcard } from './names.js';
import type { CompiledRoutes } from './routes.js';

/** What answers requests and sessions, whichever listener they come from. */
export interface Application {
  handler: RequestHandler;
  sessions: Omit<SessionServerOptions, 'native'>;
}

export interface ApplicationOptions {
  node: NodeConfiguration;
  log: Logger;
  routes: CompiledRoutes;
  metrics: Metrics;
  certificate: CertificateSource;
  quicPort: () => number;
}

export function createApplication(options: ApplicationOptions): Application {
  const { node, log, routes, metrics } = options;
  const observer = combineObservers([metrics.observer(), ...(node.log.access ? [accessLog(log)] : [])]);
  const handler = new RequestHandler({
    routes: routes.requests,
    wellKnown: new WellKnown((exchange) => describe(options, exchange)),
    wellKnownPrefix: WELL_KNOWN_PREFIX,
    maxHeaderBytes: node.limits.header_size,
    observer,
    log,
  });
  const page = compileRoute({ path: WELL_KNOWN.page_session }, -1, { application: pageApplication(handler), isOriginAllowed });
  return { handler, sessions: { routes: [page, ...routes.sessions], observer, log } };
}

/** How the browser that asks reaches the QUIC listener. */
function describe({ node, certificate, quicPort }: ApplicationOptions, { request }: Exchange): GatewayDescription {
  // Browsers try one address of `localhost` for QUIC: name the one that is listened on. A public
  // certificate holds names, so there the page's own name is kept.
  const named = certificate.isDevelopment && !isWildcard(node.listen.address);
  const port = quicPort();
  const authority = named ? formatAddress({ address: node.listen.address, port }) : `${hostName(request.authority)}:${port}`;
  return { hashes: certificate.isDevelopment ? [certificate.hash] : [], authority };
}
