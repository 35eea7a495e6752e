import { EventKind, PathRefusal, type NativeAddress, type NativeEndpoint, type NativeEvent } from './addon.js';
import { QuicError } from './quic_error.js';
import type { PathControl, PathEvent, PathUse } from './types.js';

const NOT_NEGOTIATED = -1;
/** Refusals that end by themselves: the confirmation of the handshake and connection ids are on their way. */
const WAIT = new Set([-2, -6]);
const WAIT_MS = 10_000;
const MAX_WEIGHT = 1_000;

/** A path that is being validated. */
interface Opening {
  resolve: (id: number) => void;
  reject: (error: Error) => void;
}

export const isPathEvent = (kind: EventKind): boolean =>
  kind >= EventKind.pathsAvailable && kind <= EventKind.pathAbandoned;

/** The paths of one connection (RFC 10069). */
export class ConnectionPaths implements PathControl {
  private readonly opening = new Map<number, Opening>();
  private waiting: (() => void)[] = [];
  private closed: Error | undefined;

  constructor(
    private readonly endpoint: NativeEndpoint,
    private readonly connection: number,
    private readonly emit: (event: PathEvent) => void,
  ) {}

  async open(local: NativeAddress, remote: NativeAddress): Promise<number> {
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      if (this.closed) throw this.closed;
      const id = this.endpoint.openPath(this.connection, local, remote);
      if (id >= 0) return new Promise((resolve, reject) => this.opening.set(id, { resolve, reject }));
      if (!WAIT.has(id) || performance.now() >= deadline) throw refused(id);
      await this.available(deadline - performance.now());
    }
  }

  abandonPath(id: number, code = 0): void {
    check(this.endpoint.abandonPath(this.connection, id, code));
  }
  setPathStatus(id: number, status: PathUse): void {
    check(this.endpoint.setPathStatus(this.connection, id, status === 'backup'));
  }
  setPathWeight(id: number, weight: number): void {
    if (!Number.isInteger(weight) || weight < 1 || weight > MAX_WEIGHT)
      throw new QuicError('PATH_REFUSED', `path: a weight is a whole number from 1 to ${MAX_WEIGHT}`);
    check(this.endpoint.setPathWeight(this.connection, id, weight));
  }
  pinStream(stream: number, path: number): void {
    check(this.endpoint.pinStream(this.connection, path, stream));
  }

  onEvent(event: NativeEvent): void {
    const [kind] = event;
    if (kind === EventKind.pathsAvailable) return this.wake();
    const told = pathEvent(event);
    if (!told) return;
    const opening = this.opening.get(told.id);
    if (opening && told.type === 'validated') opening.resolve(told.id);
    if (opening && told.type === 'abandoned')
      opening.reject(new QuicError('PATH_FAILED', 'nothing came back on the new path', told.code));
    if (told.type === 'validated' || told.type === 'abandoned') this.opening.delete(told.id);
    this.emit(told);
  }

  onConnectionClosed(error: Error): void {
    this.closed = error;
    for (const { reject } of this.opening.values()) reject(error);
    this.opening.clear();
    this.wake();
  }

  /** Resolves when another attempt may succeed, or when the time is over. */
  private available(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
  private wake(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const wake of waiting) wake();
  }
}

function pathEvent(event: NativeEvent): PathEvent | undefined {
  const id = event[2] as number;
  switch (event[0]) {
    case EventKind.pathOpened:
      return { type: 'opened', id };
    case EventKind.pathValidated:
      return { type: 'validated', id };
    case EventKind.pathMoved:
      return { type: 'moved', id };
    case EventKind.pathStatus:
      return { type: 'status', id, status: (event[3] as boolean) ? 'backup' : 'available' };
    case EventKind.pathAbandoned:
      return { type: 'abandoned', id, code: event[3] as number, byPeer: event[4] as boolean };
    default:
      return undefined;
  }
}

function check(outcome: number): void {
  if (outcome < 0) throw refused(outcome);
}

function refused(code: number): QuicError {
  const text = (PathRefusal as Record<number, string>)[code] ?? `refused (${code})`;
  return new QuicError(code === NOT_NEGOTIATED ? 'NO_MULTIPATH' : 'PATH_REFUSED', `path: ${text}`);
}
