import type { Exchange } from '../../http/exchange.js';
import type { BackendHealth } from '../../observability/backend_report.js';
import type { BackendWatch } from './backend_watch.js';

/** Order in which backends are tried: the likeliest to answer first. Lost backends are left out. */
const order: readonly BackendHealth[] = ['serving', 'draining', 'unhealthy', 'joining'];

/** The backend that currently has a request */
export interface Turn {
  backend: BackendWatch;
  /** Aborts when the client abandons the request, or the backend is lost. */
  signal: AbortSignal;
}

/** Proxies one request to the backends of a route in turn. The request has a place at only one backend at a time. */
export class BackendsInTurn {
  readonly #left: BackendWatch[];
  readonly #exchange: Exchange;
  #leave: (() => void) | undefined;
  #full = false;

  constructor(backends: readonly BackendWatch[], exchange: Exchange) {
    this.#left = [...backends];
    this.#exchange = exchange;
  }

  /** Whether a backend was skipped because it had no room */
  get full(): boolean {
    return this.#full;
  }

  next(): Turn | undefined {
    this.leave();
    for (let backend = this.#best(); backend; backend = this.#best()) {
      this.#left.splice(this.#left.indexOf(backend), 1);
      if (backend.places.enter(this.#exchange, performance.now())) return this.#begin(backend);
      this.#full = true;
    }
    return undefined;
  }

  /** Gives back the request's place, if it has one. */
  leave(): void {
    this.#leave?.();
    this.#leave = undefined;
  }

  #best(): BackendWatch | undefined {
    const usable = this.#left.filter(({ state }) => order.includes(state));
    return usable.sort(
      (one, other) =>
        order.indexOf(one.state) - order.indexOf(other.state) || one.requestsActive - other.requestsActive,
    )[0];
  }

  #begin(backend: BackendWatch): Turn {
    backend.proxied += 1;
    const exchange = this.#exchange;
    const controller = new AbortController();
    const abandon = (): void => controller.abort();
    const forget = backend.whenLost(abandon);
    exchange.signal.addEventListener('abort', abandon, { once: true });
    this.#leave = () => {
      forget();
      exchange.signal.removeEventListener('abort', abandon);
      backend.places.leave(exchange);
    };
    return { backend, signal: controller.signal };
  }
}
