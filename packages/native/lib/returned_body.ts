import { EventKind, type NativeEndpoint, type NativeEvent } from './addon.js';
import type { ReturnedBody } from './direct_return_types.js';
import { H3_INTERNAL_ERROR } from './http3_body.js';
import { lendable } from './lent_bytes.js';

/** The bodies that each endpoint sends for its gateways, by their numbers. */
const bodies = new WeakMap<NativeEndpoint, Map<number, NativeReturnedBody>>();

/** A body that a backend sends at the orders of its gateway. */
export class NativeReturnedBody implements ReturnedBody {
  readonly over: Promise<number>;
  private resolveOver!: (bytes: number) => void;
  private waiting: (() => void) | undefined;
  private ended = false;

  constructor(
    private readonly endpoint: NativeEndpoint,
    private readonly number: number,
    private readonly siblings: Set<NativeReturnedBody>,
  ) {
    this.over = new Promise((resolve) => (this.resolveOver = resolve));
    const known = bodies.get(endpoint) ?? new Map<number, NativeReturnedBody>();
    bodies.set(endpoint, known.set(number, this));
    siblings.add(this);
  }

  get isOver(): boolean {
    return this.ended;
  }

  append(bytes: Uint8Array): boolean {
    return this.ended || this.endpoint.appendReturned(this.number, lendable(bytes)) !== 0;
  }

  room(): Promise<void> {
    return this.ended ? Promise.resolve() : new Promise((resolve) => (this.waiting = resolve));
  }

  fail(code = H3_INTERNAL_ERROR): void {
    if (!this.ended) this.endpoint.failReturned(this.number, code);
  }

  /** Called before its session ends, after which the addon may report nothing more. */
  onSessionEnd(): void {
    this.onOver(this.endpoint.returnedBytes(this.number));
  }

  onRoom(): void {
    this.waiting?.();
    this.waiting = undefined;
  }

  onOver(bytes: number): void {
    if (this.ended) return;
    this.ended = true;
    this.siblings.delete(this);
    bodies.get(this.endpoint)?.delete(this.number);
    this.resolveOver(bytes);
    this.onRoom();
  }
}

/** Tells a body that it has room (`returnRoom`), or is over (`returnOver`). */
export function onReturnedBodyEvent(endpoint: NativeEndpoint, event: NativeEvent): void {
  const [kind, , number, bytes] = event as [EventKind, number, number, number];
  const body = bodies.get(endpoint)?.get(number);
  if (kind === EventKind.returnRoom) body?.onRoom();
  else body?.onOver(bytes);
}
