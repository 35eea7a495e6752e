import type { StreamPriority } from '../protocol/index.js';

/** The load of one resource, which is sent to pages as it changes. Times are milliseconds since 1970. */
export interface Load {
  readonly id: number;
  readonly url: string;
  readonly method: string;
  readonly destination: string;
  readonly priority: StreamPriority;
  transport: 'webtransport' | 'network' | 'cache';
  state: 'waiting' | 'receiving' | 'done' | 'failed';
  status: number;
  /** Number of streams used: more than one after refusals or a lost session */
  attempts: number;
  /** Bytes received on streams, including heads; 0 for the cache, and for the network, which does not tell */
  bytes: number;
  readonly startedAt: number;
  headAt: number | undefined;
  endedAt: number | undefined;
}

// Enough for large real pages, which have a few hundred resources.
const KEPT = 500;

/** The latest loads, with a listener for every change */
export class LoadLog {
  private readonly loads: Load[] = [];
  private nextId = 1;

  constructor(private readonly onChange: (load: Load) => void) {}

  history(): readonly Load[] {
    return this.loads;
  }

  start(request: Request, priority: StreamPriority): Load {
    const load: Load = {
      id: this.nextId++,
      url: request.url,
      method: request.method,
      destination: request.destination,
      priority,
      transport: 'webtransport',
      state: 'waiting',
      status: 0,
      attempts: 0,
      bytes: 0,
      startedAt: now(),
      headAt: undefined,
      endedAt: undefined,
    };
    this.loads.push(load);
    if (this.loads.length > KEPT) this.loads.shift();
    this.onChange(load);
    return load;
  }

  head(load: Load, status: number): void {
    load.status = status;
    load.state = 'receiving';
    load.headAt = now();
    this.onChange(load);
  }

  end(load: Load, state: 'done' | 'failed'): void {
    load.state = state;
    load.endedAt = now();
    this.onChange(load);
  }
}

function now(): number {
  return performance.timeOrigin + performance.now();
}
