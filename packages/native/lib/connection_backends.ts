import type { EventEmitter } from 'node:events';
import { EventKind, type NativeAddress, type NativeEndpoint, type NativeEvent } from './addon.js';
import { backendRefused } from './backend_refused.js';
import type { BackendEvents } from './multi_end_types.js';
import { QuicError } from './quic_error.js';
import type { PathEvent } from './types.js';

export const UNKNOWN_BACKEND = -4;
/** Reason in BACKEND_WITHDRAW (docs/reference/wire.md). */
const DRAINS = 0;

/** A backend that the client has opened a path to. */
interface OpenedBackend {
  backend: number;
  path: number;
  withdrawn?: true;
  /** Present until the backend has answered. */
  opening?: { resolve: (path: number) => void; reject: (error: Error) => void };
}

export const isBackendEvent = (kind: EventKind): boolean =>
  kind >= EventKind.multiEndReady && kind <= EventKind.primaryLost;

/** A client's view of the servers that share its connection (docs/internals/multi-end.md). */
export class ConnectionBackends {
  /** Opened backends by path. A backend that was withdrawn and offered again has two paths for a while. */
  private readonly opened = new Map<number, OpenedBackend>();

  constructor(
    private readonly endpoint: NativeEndpoint,
    private readonly connection: number,
    private readonly events: EventEmitter<BackendEvents>,
  ) {}

  open(backend: number, local: NativeAddress | undefined): Promise<number> {
    const path = this.endpoint.openBackend(this.connection, backend, local);
    if (path < 0) return Promise.reject(backendRefused(path));
    return new Promise((resolve, reject) => this.opened.set(path, { backend, path, opening: { resolve, reject } }));
  }

  /** Returns the path for requests to the backend. @throws QuicError `BACKEND_REFUSED` */
  pathOf(backend: number): number {
    const paths = [...this.opened.values()].filter(
      (opened) => opened.backend === backend && !opened.opening && !opened.withdrawn,
    );
    const newest = paths.at(-1);
    if (!newest) throw backendRefused(UNKNOWN_BACKEND);
    return newest.path;
  }

  onEvent(event: NativeEvent): void {
    switch (event[0]) {
      case EventKind.backendOffered: {
        const [, , backend, path, address, port] = event as [EventKind, number, number, number, string, number];
        this.events.emit('backendOffered', { backend, path, address, port });
        return;
      }
      case EventKind.backendWithdrawn: {
        const [, , backend, path, reason] = event as [EventKind, number, number, number, number];
        const opened = this.opened.get(path);
        if (opened) opened.withdrawn = true;
        this.events.emit('backendWithdrawn', { backend, path, reason: reason === DRAINS ? 'drains' : 'gone' });
        return;
      }
      case EventKind.primaryLost:
        this.events.emit('primaryLost');
        return;
      default:
        return;
    }
  }

  onPathEvent(event: PathEvent): void {
    const opened = this.opened.get(event.id);
    if (!opened) return;
    const { backend, path, opening } = opened;
    if (event.type === 'validated') {
      delete opened.opening;
      opening?.resolve(path);
      this.events.emit('backendPathOpen', { backend, path });
    } else if (event.type === 'abandoned') {
      this.opened.delete(path);
      opening?.reject(new QuicError('PATH_FAILED', 'the backend did not answer on its path', event.code));
      this.events.emit('backendLost', { backend, path, errorCode: event.code });
    }
  }

  onConnectionClosed(error: Error): void {
    for (const { opening } of this.opened.values()) opening?.reject(error);
    this.opened.clear();
  }
}
