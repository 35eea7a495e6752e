import type { EventEmitter } from 'node:events';
import { EventKind, type NativeAddress, type NativeEndpoint, type NativeEvent } from './addon.js';
import { endRefused } from './end_refused.js';
import type { EndEvents } from './multi_end_types.js';
import { QuicError } from './quic_error.js';
import type { PathEvent } from './types.js';

export const UNKNOWN_END = -4;
/** Reason in END_WITHDRAW (docs/wire.md). */
const DRAINS = 0;

/** An end that the client has opened a path to. */
interface OpenedEnd {
  end: number;
  path: number;
  withdrawn?: true;
  /** Until it has answered. */
  opening?: { resolve: (path: number) => void; reject: (error: Error) => void };
}

export const isEndEvent = (kind: EventKind): boolean => kind >= EventKind.multiEndReady && kind <= EventKind.primaryLost;

/** A client's view of the servers that share its connection (docs/multi-end.md). */
export class ConnectionEnds {
  /** By path; an end that was withdrawn and offered again has two for a while. */
  private readonly opened = new Map<number, OpenedEnd>();

  constructor(
    private readonly endpoint: NativeEndpoint,
    private readonly connection: number,
    private readonly events: EventEmitter<EndEvents>,
  ) {}

  open(end: number, local: NativeAddress | undefined): Promise<number> {
    const path = this.endpoint.openEnd(this.connection, end, local);
    if (path < 0) return Promise.reject(endRefused(path));
    return new Promise((resolve, reject) => this.opened.set(path, { end, path, opening: { resolve, reject } }));
  }

  /** Where requests for the end go. @throws QuicError `END_REFUSED` */
  pathOf(end: number): number {
    const paths = [...this.opened.values()].filter((opened) => opened.end === end && !opened.opening && !opened.withdrawn);
    const newest = paths.at(-1);
    if (!newest) throw endRefused(UNKNOWN_END);
    return newest.path;
  }

  onEvent(event: NativeEvent): void {
    switch (event[0]) {
      case EventKind.endOffered: {
        const [, , end, path, address, port] = event as [EventKind, number, number, number, string, number];
        this.events.emit('endOffered', { end, path, address, port });
        return;
      }
      case EventKind.endWithdrawn: {
        const [, , end, path, reason] = event as [EventKind, number, number, number, number];
        const opened = this.opened.get(path);
        if (opened) opened.withdrawn = true;
        this.events.emit('endWithdrawn', { end, path, reason: reason === DRAINS ? 'drains' : 'gone' });
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
    const { end, path, opening } = opened;
    if (event.type === 'validated') {
      delete opened.opening;
      opening?.resolve(path);
      this.events.emit('endPathOpen', { end, path });
    } else if (event.type === 'abandoned') {
      this.opened.delete(path);
      opening?.reject(new QuicError('PATH_FAILED', 'the end did not answer on its path', event.code));
      this.events.emit('endLost', { end, path, errorCode: event.code });
    }
  }

  onConnectionClosed(error: Error): void {
    for (const { opening } of this.opened.values()) opening?.reject(error);
    this.opened.clear();
  }
}
