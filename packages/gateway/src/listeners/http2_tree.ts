import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { PRIORITY_LIMITS, parseUrgency, type Dependency, type StreamPriority } from '@sheaf/web-client/protocol';

/** Bound on the nodes of one client: its concurrent streams, and groups without a stream */
const maxNodes = 1_024;

/** Bound on the nodes of all clients together. It is a sixteenth of all numbers, so a free number is soon found. */
const maxNumbers = 2 ** 16;

/** Weight of a stream whose client sets none (RFC 7540 §5.3.5) */
const defaultWeight = 16;

/** Numbers for the nodes of many connections, so that one tree can hold all of them */
export class NodeNumbers {
  readonly #used = new Set<number>();
  #last = 0;

  /** Takes a free number; undefined when too many are in use. */
  take(): number | undefined {
    if (this.#used.size >= maxNumbers) return undefined;
    do this.#last = (this.#last % PRIORITY_LIMITS.node) + 1;
    while (this.#used.has(this.#last));
    this.#used.add(this.#last);
    return this.#last;
  }

  giveBack(number: number): void {
    this.#used.delete(number);
  }

  get used(): number {
    return this.#used.size;
  }
}

interface Node {
  number: number;
  /** Content of a PRIORITY frame. Absent while the node is only known as the parent of another. */
  told?: { parent: number; weight: number; exclusive: boolean };
}

/**
 * The priorities that the client of an HTTP/2 session gave its streams (RFC 7540 §5.3). Node reports PRIORITY frames
 * and the weight of a stream, but not the parent in a HEADERS frame.
 */
export class Http2Tree {
  readonly #nodes = new Map<number, Node>();
  readonly #numbers: NodeNumbers;

  constructor(session: ServerHttp2Session, numbers: NodeNumbers) {
    this.#numbers = numbers;
    const events = session as unknown as NodeJS.EventEmitter;
    events.on('priority', (id: number, parent: number, weight: number, exclusive: boolean) =>
      this.#onPriority(id, { parent, weight, exclusive }),
    );
    session.once('close', () => {
      for (const id of [...this.#nodes.keys()]) this.#forget(id);
    });
  }

  /**
   * Returns the priority of a stream; undefined when the client gave none. `field` is the request's `priority` field.
   */
  priorityOf(stream: ServerHttp2Stream, field: string | undefined): StreamPriority | undefined {
    const id = stream.id;
    const weight = stream.state.weight ?? defaultWeight;
    if (id === undefined || (weight === defaultWeight && !this.#nodes.has(id))) return undefined;
    const node = this.#node(id);
    if (!node) return undefined;
    stream.once('close', () => this.#forget(id));
    const { parent, exclusive } = node.told ?? { parent: 0, exclusive: false };
    const dependency = this.#dependency(id, { parent, weight, exclusive });
    if (!dependency) return undefined;
    const groups = this.#groupsAbove(parent, id);
    return { ...parseUrgency(field), dependency, ...(groups.length > 0 ? { groups } : {}) };
  }

  #onPriority(id: number, told: NonNullable<Node['told']>): void {
    const node = id > 0 && told.parent !== id ? this.#node(id) : undefined;
    if (node) node.told = told;
  }

  /** Returns the client's groups between `parent` and the root. */
  #groupsAbove(parent: number, id: number): Dependency[] {
    const groups: Dependency[] = [];
    const seen = new Set([0, id]);
    for (let next = parent; !seen.has(next) && groups.length < PRIORITY_LIMITS.groups;) {
      seen.add(next);
      const told = this.#nodes.get(next)?.told;
      const group = told && this.#dependency(next, told);
      if (!group) break;
      groups.push(group);
      next = told.parent;
    }
    return groups;
  }

  #dependency(id: number, { parent, weight, exclusive }: NonNullable<Node['told']>): Dependency | undefined {
    const node = this.#node(id)?.number;
    const parentNumber = parent === 0 ? 0 : this.#node(parent)?.number;
    return node === undefined || parentNumber === undefined
      ? undefined
      : { node, parent: parentNumber, weight, exclusive };
  }

  #node(id: number): Node | undefined {
    const known = this.#nodes.get(id);
    if (known || this.#nodes.size >= maxNodes) return known;
    const number = this.#numbers.take();
    if (number === undefined) return undefined;
    const node = { number };
    this.#nodes.set(id, node);
    return node;
  }

  #forget(id: number): void {
    const node = this.#nodes.get(id);
    if (!node) return;
    this.#nodes.delete(id);
    this.#numbers.giveBack(node.number);
  }
}
