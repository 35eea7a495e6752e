import { signatureTrack } from '@sheaf/web-client/signed-media';
import { catalogTrack, parseCatalog } from '../hls/catalog.js';
import type { Broadcast } from '../model/broadcast.js';
import type { Frame } from '../model/frame.js';
import type { Group } from '../model/group.js';
import type { Track, TrackInfo } from '../model/track.js';
import type { Passage, SegmentWriter } from './segment_writer.js';

/** Carries the tracks of one broadcast to a channel: its catalogue, the tracks that this names, and their signatures. */
export class BroadcastCarrier {
  /** Tracks that are carried, by name, each until it has ended */
  readonly #tracks = new Map<string, Promise<void>>();
  /** Tracks at whose groups receivers may begin */
  #leading: ReadonlySet<string> = new Set();

  constructor(
    readonly broadcast: Broadcast,
    /** Id on the channel */
    readonly id: number,
    private readonly writer: SegmentWriter,
  ) {}

  /** Resolves when the broadcast has ended, and its frames are written. */
  async run(): Promise<void> {
    this.#carry(catalogTrack);
    await this.broadcast.whenEnded();
    await Promise.all(this.#tracks.values());
  }

  #carry(name: string): void {
    if (this.#tracks.has(name)) return;
    // Tracks that fail are asked for again when a later catalogue names them.
    const done = this.#run(name).catch(() => undefined);
    this.#tracks.set(
      name,
      done.finally(() => this.#tracks.delete(name)),
    );
  }

  async #run(name: string): Promise<void> {
    const track = this.broadcast.track(name);
    const reader = track.read();
    try {
      const info = await track.ready();
      for (let group = await reader.next(); group; group = await reader.next())
        await this.#carryGroup(track, info, group);
      // Its newest group may be repeated for as long as the broadcast goes on.
      await this.broadcast.whenEnded();
    } finally {
      reader.close();
      this.writer.forget(track);
    }
  }

  /** Writes a group as its frames come. Whatever ends it early ends it on the channel, too. */
  async #carryGroup(track: Track, info: TrackInfo, group: Group): Promise<void> {
    const passage: Passage = { broadcast: this.id, track, info, group, written: 0 };
    await this.writer.open(passage, this.#leading.has(track.name));
    let complete = false;
    try {
      for (let frame = await group.frame(0); frame; frame = await group.frame(passage.written)) {
        await this.writer.frame(passage, frame);
        if (track.name === catalogTrack && passage.written === 1) this.#follow(frame);
      }
      complete = true;
    } catch (error) {
      if (group.error === undefined) throw error;
    } finally {
      await this.writer.end(passage, complete);
    }
  }

  #follow(frame: Frame): void {
    const catalog = parseCatalog(frame.payload);
    if (catalog === undefined) return;
    const [video, audio] = [[...catalog.video.keys()], [...catalog.audio.keys()]];
    this.#leading = new Set(video.length > 0 ? video : audio);
    for (const name of [...video, ...audio]) this.#carry(name);
    const signed = new Set(catalog.signed);
    for (const name of [catalogTrack, ...video, ...audio]) if (signed.has(name)) this.#carry(signatureTrack(name));
  }
}
