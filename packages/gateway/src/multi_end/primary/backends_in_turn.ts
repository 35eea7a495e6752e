import type { Exchange } from '../../http/exchange.js';
import type { BackendHealth } from '../../observability/backend_report.js';
import type { BackendWatch } from './backend_watch.js';

/** Most likely to answer first. Nobody waits for a backend that is lost. */
const order: readonly BackendHealth[] = ['serving', 'draining', 'unhealthy', 'joining'];

/** The backend that a request is at. */
export interface Turn {
  backend: BackendWatch;
  /** Aborts when the client gives up or the backend is lost. */
  signal: AbortSignal;
}

/** The backends of a route that one request is proxied to, one after another: it has a place at one at a time. */
export class BackendsInTurn {
  readonly #left: BackendWatch[];
  readonly #exchange: Exchange;
  #leave: (() => void) | undefined;
  #full = false;

  constructor(backends: readonly BackendWatch[], exchange: Exchange) {
    this.#left = [...backends];
    this.#exchange = exchange;
  }

  /** A backend was left out since it had no room. */
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

  /** It has a place nowhere. */
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
