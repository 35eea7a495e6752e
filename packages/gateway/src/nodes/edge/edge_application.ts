import { WELL_KNOWN_PREFIX } from '@sheaf/web-client/protocol';
import type { Logger } from 'pino';
import type { Target } from '../../http/exchange.js';
import { RequestHandler, type RequestHandlerOptions, type RequestObserver } from '../../http/request_handler.js';
import { compileRoute } from '../../http/router.js';
import type { Tracer } from '../../http/tracer.js';
import type { SlowReason } from '../../slow_clients/slow_clients.js';
import { NodeSlowClients } from '../../slow_clients/slow_clients.js';
import type { EdgeConfiguration } from '../../schema/edge.js';
import { describeListener } from '../front/description.js';
import type { Front } from '../front/front.js';
import { WellKnown, type ToldOnRequest } from '../site/well_known.js';
import type { CarriedMedia } from './carried_media.js';

export interface EdgeApplicationOptions {
  front: Pick<Front, 'certificate' | 'address'>;
  media: Pick<CarriedMedia, 'requests'>;
  /** Answers what no route to broadcasts does. */
  forwarder: Target;
  /** What pages that come through the edge learn of it */
  told: Pick<ToldOnRequest, 'paths' | 'responses'>;
  observer: RequestObserver;
  onSlow(reason: SlowReason): void;
  tracer: Tracer | undefined;
  log: Logger;
}

/** Answers requests of all listeners of an edge. A reload replaces its rules, and nothing else. */
export class EdgeApplication {
  readonly handler: RequestHandler;
  readonly #options: EdgeApplicationOptions;
  readonly #slowClients: NodeSlowClients;

  constructor(options: EdgeApplicationOptions, node: EdgeConfiguration) {
    this.#options = options;
    this.#slowClients = new NodeSlowClients(options.onSlow);
    this.handler = new RequestHandler(this.#handlerOptions(node));
  }

  /** Answers what begins from now on by other rules. */
  use(node: EdgeConfiguration): void {
    this.handler.use(this.#handlerOptions(node));
  }

  #handlerOptions(node: EdgeConfiguration): RequestHandlerOptions {
    const { front, media, forwarder, told, observer, tracer, log } = this.#options;
    const describe = describeListener(
      node,
      () => front.certificate,
      () => front.address.port,
    );
    return {
      routes: [...media.requests, compileRoute({ path: '/' }, media.requests.length, forwarder)],
      wellKnown: new WellKnown(describe, { ...told, pageLoader: node.page_loader }),
      wellKnownPrefix: WELL_KNOWN_PREFIX,
      maxHeaderBytes: node.limits.header_size,
      slowClients: this.#slowClients.by(node.limits),
      observer,
      tracer,
      log,
      timingName: 'sheaf-edge',
    };
  }
}
