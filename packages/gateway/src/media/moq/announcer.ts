import { Wakeup } from '@sheaf/web-client/wakeup';
import type { Broadcast } from '../model/broadcast.js';
import type { Broadcasts } from '../model/broadcasts.js';
import { encodeAnnouncement, encodeAnnounceOk, encodeInnerAnnouncement, type AnnounceRequest } from './messages.js';
import type { MoqPeer } from './moq_peer.js';
import type { MoqStream } from './moq_streams.js';

export interface AnnouncerOptions {
  broadcasts: Broadcasts;
  /** The number of this node */
  origin: bigint;
  request: AnnounceRequest;
  peer: Pick<MoqPeer, 'kind'>;
}

/** Tells one viewer, or another worker, which broadcasts begin and end below a prefix. */
export class Announcer {
  readonly #changed = new Wakeup();
  /** What changed since the last announcement: at most one entry for each broadcast, however slow the viewer is */
  readonly #waiting = new Map<string, Broadcast | undefined>();
  readonly #announced = new Set<string>();
  #over = false;

  constructor(private readonly options: AnnouncerOptions) {}

  /** Runs until the viewer ends the stream. */
  async run({ reader, sent }: MoqStream): Promise<void> {
    const { broadcasts, origin } = this.options;
    const stop = broadcasts.watch((broadcast, active) => this.#note(broadcast, active));
    const ended = reader.varint().finally(() => {
      this.#over = true;
      this.#changed.notify();
    });
    ended.catch(() => undefined);
    try {
      for (const broadcast of broadcasts.all) this.#note(broadcast, true);
      await sent.write(encodeAnnounceOk({ origin, active: this.#waiting.size }));
      while (!this.#over) {
        const next = this.#next();
        if (next) await sent.write(next);
        else await this.#changed.wait();
      }
      await ended;
      sent.end();
    } finally {
      stop();
    }
  }

  #note(broadcast: Broadcast, active: boolean): void {
    const suffix = suffixOf(this.options.request.prefix, broadcast.name);
    if (suffix === undefined) return;
    this.#waiting.delete(suffix);
    if (active && !this.#hides(broadcast)) this.#waiting.set(suffix, broadcast);
    else if (this.#announced.has(suffix)) this.#waiting.set(suffix, undefined);
    this.#changed.notify();
  }

  #hides({ hops, isCopy }: Broadcast): boolean {
    const { request, peer } = this.options;
    // Each worker tells all others what its own clients publish.
    if (peer.kind === 'worker') return isCopy;
    return request.excludeHop !== 0n && hops.includes(request.excludeHop);
  }

  #next(): Buffer | undefined {
    const [entry] = this.#waiting;
    if (entry === undefined) return undefined;
    const [suffix, broadcast] = entry;
    this.#waiting.delete(suffix);
    if (broadcast) this.#announced.add(suffix);
    else this.#announced.delete(suffix);
    const announcement = { active: broadcast !== undefined, suffix, hops: broadcast?.hops ?? [] };
    if (this.options.peer.kind === 'client') return encodeAnnouncement(announcement);
    return encodeInnerAnnouncement({ ...announcement, publication: broadcast?.publication });
  }
}

/** Returns the part of a path behind a prefix of whole segments, or undefined when it does not begin with the prefix. */
export function suffixOf(prefix: string, path: string): string | undefined {
  if (prefix === '') return path;
  if (path === prefix) return '';
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length + 1) : undefined;
}
