import type { Exchange } from '../http/exchange.js';
import type { EndHealth, EndWatch } from './end_watch.js';

/** Most likely to answer first. Nobody waits for an end that is lost. */
const order: readonly EndHealth[] = ['serving', 'draining', 'unhealthy', 'joining'];

/** The end that a request is at. */
export interface Turn {
  end: EndWatch;
  /** Aborts when the client gives up or the end is lost. */
  signal: AbortSignal;
}

/** The ends of a route that one request is carried to, one after another: it has a place at one at a time. */
export class EndsInTurn {
  readonly #left: EndWatch[];
  readonly #exchange: Exchange;
  #leave: (() => void) | undefined;
  #full = false;

  constructor(ends: readonly EndWatch[], exchange: Exchange) {
    this.#left = [...ends];
    this.#exchange = exchange;
  }

  /** An end was left out since it had no room. */
  get full(): boolean {
    return this.#full;
  }

  next(): Turn | undefined {
    this.leave();
    for (let end = this.#best(); end; end = this.#best()) {
      this.#left.splice(this.#left.indexOf(end), 1);
      if (end.carried.enter(this.#exchange, performance.now())) return this.#begin(end);
      this.#full = true;
    }
    return undefined;
  }

  /** It has a place nowhere. */
  leave(): void {
    this.#leave?.();
    this.#leave = undefined;
  }

  #best(): EndWatch | undefined {
    const usable = this.#left.filter(({ state }) => order.includes(state));
    return usable.sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state) || one.requestsActive - other.requestsActive)[0];
  }

  #begin(end: EndWatch): Turn {
    end.proxied += 1;
    const exchange = this.#exchange;
    const controller = new AbortController();
    const giveUp = (): void => controller.abort();
    const forget = end.whenLost(giveUp);
    exchange.signal.addEventListener('abort', giveUp, { once: true });
    this.#leave = () => {
      forget();
      exchange.signal.removeEventListener('abort', giveUp);
      end.carried.leave(exchange);
    };
    return { end, signal: controller.signal };
  }
}
