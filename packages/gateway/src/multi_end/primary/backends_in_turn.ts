import { Abandonment } from '../../http/abandonment.js';
import type { Exchange } from '../../http/exchange.js';
import type { BackendHealth } from '../../observability/backend_report.js';
import type { BackendWatch, Asker } from './backend_watch.js';

/** Order in which backends are tried: the likeliest to answer first. Lost backends are left out. */
const order: readonly BackendHealth[] = ['serving', 'draining', 'unhealthy', 'joining'];

/** The backend that currently has a request */
export interface Turn {
  backend: BackendWatch;
  /** Aborts when the client abandons the request, the backend is lost, or another one is to be asked instead. */
  signal: Abandonment;
  /** To be called when the backend has answered: no other one is asked instead. */
  answered(): void;
}

/** Returns the process of a backend that gets what is new. */
export type CurrentBackend = () => BackendWatch;

/** Number of turns that all requests have had */
let turns = 0;

/** Those that surely answer before those in doubt, and the fewest requests first; among equals, the one that was chosen longest ago */
const byLoad = (one: BackendWatch, other: BackendWatch): number =>
  order.indexOf(one.state) - order.indexOf(other.state) ||
  Number(one.doubtful) - Number(other.doubtful) ||
  one.requestsActive - other.requestsActive ||
  one.chosen - other.chosen;

const usable = (backend: CurrentBackend | undefined): boolean =>
  backend !== undefined && order.includes(backend().state);

/** Proxies one request to the backends of a route in turn. The request has a place at only one backend at a time. */
export class BackendsInTurn {
  readonly #left: CurrentBackend[];
  readonly #exchange: Exchange;
  readonly #mayRepeat: () => boolean;
  /** Backends that have had a turn */
  readonly #had: BackendWatch[] = [];
  #leave: (() => void) | undefined;
  #latest: CurrentBackend | undefined;
  /** Backends that have another turn: before all others, and after them */
  readonly #again: { first?: CurrentBackend | undefined; last?: CurrentBackend | undefined } = {};
  #full = false;

  /** `mayRepeat`: whether another backend may get the request while one has it */
  constructor(backends: readonly CurrentBackend[], exchange: Exchange, mayRepeat: () => boolean) {
    this.#left = [...backends];
    this.#exchange = exchange;
    this.#mayRepeat = mayRepeat;
  }

  /** Whether a backend was skipped because it had no room */
  get full(): boolean {
    return this.#full;
  }

  next(): Turn | undefined {
    this.leave();
    for (let best = this.#best(); best; best = this.#best()) {
      this.#remove(best);
      const backend = best();
      if (backend.places.enter(this.#exchange, performance.now())) {
        this.#latest = best;
        return this.#begin(backend);
      }
      this.#full = true;
    }
    return undefined;
  }

  /** Gives the latest backend another turn: the next one, or one after all others. */
  again(when: 'first' | 'last'): void {
    this.#again[when] = this.#latest;
  }

  /** Gives back the request's place, if it has one. */
  leave(): void {
    this.#leave?.();
    this.#leave = undefined;
  }

  /** The exchange is over: it needs no backend again. */
  end(): void {
    this.leave();
    for (const backend of this.#had) backend.dependents.delete(this.#exchange);
  }

  #best(): CurrentBackend | undefined {
    const { first, last } = this.#again;
    if (usable(first)) return first;
    let best: CurrentBackend | undefined;
    for (const backend of this.#left)
      if (usable(backend) && (best === undefined || byLoad(backend(), best()) < 0)) best = backend;
    return best ?? (usable(last) ? last : undefined);
  }

  #remove(backend: CurrentBackend): void {
    if (this.#again.first === backend) this.#again.first = undefined;
    else if (this.#left.includes(backend)) this.#left.splice(this.#left.indexOf(backend), 1);
    else this.#again.last = undefined;
  }

  #begin(backend: BackendWatch): Turn {
    backend.chosen = turns += 1;
    backend.proxied += 1;
    const exchange = this.#exchange;
    this.#had.push(backend);
    backend.dependents.add(exchange);
    const signal = new Abandonment();
    let answered = false;
    const asker: Asker = {
      onLost: signal.abort,
      onSilence: () => {
        const other = this.#left.some((each) => usable(each) && !each().silent);
        if (answered || !other || !this.#mayRepeat()) return;
        this.again('last');
        signal.abort();
      },
    };
    backend.enter(asker);
    const stay = exchange.whenAborted(signal.abort);
    this.#leave = () => {
      backend.leave(asker);
      stay();
      backend.places.leave(exchange);
    };
    return { backend, signal, answered: () => (answered = true) };
  }
}
