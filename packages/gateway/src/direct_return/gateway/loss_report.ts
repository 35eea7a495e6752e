import type { ReturnLost } from '@sheaf/native';
import type { Logger } from 'pino';
import { fallbackReasons } from '../../http/fallback_reasons.js';

/** Time in milliseconds for which further losses of a backend are counted instead of told one by one */
const quietMs = 1_000;

/** A response that its backend left undone */
export interface Loss {
  path: string;
  reason: ReturnLost['reason'];
  /** Bytes of the body that the client has */
  received: number;
  /** Bytes of the body */
  length: number;
}

/** Tells of responses that backends left undone. A backend that dies loses all of its responses at once. */
export class LossReport {
  readonly #log: Logger;
  /** Number of losses that were not told, by the names of backends that had one in the last second */
  readonly #counted = new Map<string, number>();

  constructor(log: Logger) {
    this.#log = log;
  }

  add(backend: string, loss: Loss): void {
    const counted = this.#counted.get(backend);
    const hint = fallbackReasons[loss.reason].fix;
    this.#log[counted === undefined ? 'warn' : 'debug'](
      { backend, ...loss, hint },
      'a backend sends no more of a response',
    );
    this.#counted.set(backend, counted === undefined ? 0 : counted + 1);
    if (counted === undefined) setTimeout(() => this.#sum(backend), quietMs).unref();
  }

  #sum(backend: string): void {
    const further = this.#counted.get(backend);
    this.#counted.delete(backend);
    if (further) this.#log.warn({ backend, further }, 'a backend sends no more of further responses');
  }
}
