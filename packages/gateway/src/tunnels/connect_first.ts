import { connect, isIP, type Socket } from 'node:net';

/** Milliseconds until the next address is tried beside those that have not connected (RFC 8305 §5) */
const staggerMs = 250;
const timeoutMs = 10_000;
/** Addresses that are tried */
const mostAddresses = 8;

/** Why nothing connected, by the errors of the system. */
export class UnreachableError extends Error {
  constructor(readonly codes: readonly string[]) {
    super(codes.join(', '));
  }
}

/** Returns addresses of both families in turn (RFC 8305 §4), as many as are tried. */
export function inTurn(addresses: readonly string[]): string[] {
  const [first = '', ...others] = addresses;
  const family = isIP(first);
  const same = [first, ...others.filter((address) => isIP(address) === family)];
  const different = others.filter((address) => isIP(address) !== family);
  const pairs = same.map((address, index) => [address, ...different.slice(index, index + 1)]);
  return [...pairs.flat(), ...different.slice(same.length)].slice(0, mostAddresses);
}

/**
 * Connects to the first of the addresses that lets it, over TCP. Resolves with undefined when the signal aborts. @throws
 * UnreachableError
 */
export function connectFirst(
  addresses: readonly string[],
  port: number,
  { signal, timeout = timeoutMs }: { signal?: AbortSignal; timeout?: number } = {},
): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const attempts = new Attempts(inTurn(addresses), port, (winner, codes) => {
      clearTimeout(limit);
      signal?.removeEventListener('abort', leave);
      if (winner || signal?.aborted) resolve(winner);
      else reject(new UnreachableError(codes));
    });
    const leave = (): void => attempts.settle();
    const limit = setTimeout(() => attempts.settle(undefined, 'ETIMEDOUT'), timeout);
    signal?.addEventListener('abort', leave);
    if (signal?.aborted) leave();
    else attempts.next();
  });
}

/** Connections of which the first one wins */
class Attempts {
  readonly #waiting: string[];
  readonly #port: number;
  readonly #done: (winner: Socket | undefined, codes: readonly string[]) => void;
  readonly #pending = new Set<Socket>();
  readonly #codes: string[] = [];
  #stagger: NodeJS.Timeout | undefined;
  #over = false;

  constructor(addresses: string[], port: number, done: (winner: Socket | undefined, codes: readonly string[]) => void) {
    this.#waiting = addresses;
    this.#port = port;
    this.#done = done;
  }

  /** Tries the next address, and the one behind it a little later. */
  next(): void {
    clearTimeout(this.#stagger);
    const host = this.#waiting.shift();
    if (host === undefined) return;
    // The client's end is its own, and so is that of the target.
    const socket = connect({ host, port: this.#port, allowHalfOpen: true, noDelay: true });
    this.#pending.add(socket);
    socket.once('error', (error: NodeJS.ErrnoException) => this.#onError(socket, error.code ?? ''));
    socket.once('connect', () => this.settle(socket));
    this.#stagger = setTimeout(() => this.next(), staggerMs);
  }

  /** Ends all attempts but the winner. */
  settle(winner?: Socket, code?: string): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#stagger);
    if (code !== undefined) this.#codes.push(code);
    for (const socket of this.#pending) if (socket !== winner) socket.destroy();
    this.#done(winner, this.#codes);
  }

  #onError(socket: Socket, code: string): void {
    this.#pending.delete(socket);
    this.#codes.push(code);
    if (this.#over) return;
    if (this.#waiting.length > 0) this.next();
    else if (this.#pending.size === 0) this.settle();
  }
}
