import * as Moq from '@moq/net';
import { BROADCAST, CATALOG, TRACK } from './session.js';

/** Age in milliseconds at which a node abandons a group that it has not sent to its end */
const LATENCY_MAX = 10_000;

export interface EncodedPicture {
  /** Number of the group, and of the frame in it */
  readonly group: number;
  readonly index: number;
  /** Time of day at which the picture was taken, in microseconds */
  readonly timestamp: number;
  readonly data: Uint8Array;
}

export interface SubscriberEvents {
  /** The broadcast begins. */
  online(): void;
  /** From its next group on, pictures are decoded so. */
  described(rendition: Rendition): void;
  picture(picture: EncodedPicture): void;
  /** A group is over, after so many frames. `complete`: its publisher ended it there. */
  groupEnd(group: number, frames: number, complete: boolean): void;
  offline(): void;
}

/** Follows the demo's broadcast on a session, as often as it begins. Resolves when the session is over. */
export async function follow(session: Moq.Connection.Established, events: SubscriberEvents): Promise<void> {
  const announcements = session.announced();
  for (;;) {
    const event = await announcements.next();
    if (event === undefined) return;
    if (event.path !== BROADCAST) continue;
    if (!event.active) events.offline();
    else receive(session.consume(BROADCAST), events).catch((error: unknown) => console.warn('not received', error));
  }
}

async function receive(broadcast: Moq.Broadcast.Consumer, events: SubscriberEvents): Promise<void> {
  const catalog = broadcast.subscribe(CATALOG, { priority: 100 });
  const first = (await catalog.readJson()) as Catalog;
  events.online();
  void describe(first, catalog, events);
  const track = broadcast.subscribe(TRACK, { priority: 60, ordered: true, latencyMax: LATENCY_MAX });
  // Groups begin in their order. One that is still coming holds the next ones back.
  for (let group = await track.recvGroup(); group; group = await track.recvGroup()) await readGroup(group, events);
}

/** How a track is encoded */
export interface Rendition {
  readonly codec: string;
  readonly colorSpace?: VideoColorSpaceInit;
}

interface Catalog {
  readonly video: { readonly renditions: Readonly<Record<string, Rendition>> };
}

/** Tells of this description of the track, and of later ones. */
async function describe(first: Catalog, later: Moq.Track.Subscriber, events: SubscriberEvents): Promise<void> {
  for (let catalog: Catalog | undefined = first; catalog; catalog = (await later.readJson()) as Catalog | undefined) {
    const rendition = catalog.video.renditions[TRACK];
    if (rendition) events.described(rendition);
  }
}

async function readGroup(group: Moq.Group.Consumer, events: SubscriberEvents): Promise<void> {
  let index = 0;
  try {
    for (let frame = await group.readFrame(); frame; frame = await group.readFrame()) {
      const [timestamp, data] = Moq.Varint.decode(frame.payload);
      events.picture({ group: group.sequence, index, timestamp, data });
      index += 1;
    }
    events.groupEnd(group.sequence, index, true);
  } catch {
    events.groupEnd(group.sequence, index, false);
  }
}
