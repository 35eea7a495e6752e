/** Runs in a page: an edge that lies. It takes a broadcast from one node, and publishes it at another one with forgeries. */
import * as Moq from '@moq/net';
import { signatureTrack } from '@sheaf/web-client/signed-media';
import { announced, ownCertificate, type MediaPage } from './media_page.js';

const page = (window as unknown as { media: MediaPage }).media;

/** Place of the frame with which most forgeries begin */
const place = 4;

/** Frames of a group on their way, and those of the group before */
interface Passing {
  frames: Moq.Group.Frame[];
  before: readonly Moq.Group.Frame[];
}

/** What is done to the frames of a group. Each function returns the places of frames that no viewer may be shown from then on. */
const forgeries: Record<string, (passing: Passing) => number[]> = {
  altered: ({ frames }) => {
    const payload = frames[place]!.payload.slice();
    payload[payload.length - 1]! ^= 1;
    frames[place] = { ...frames[place]!, payload };
    return [place];
  },
  replaced: ({ frames, before }) => {
    frames[place] = before[place]!;
    return [place];
  },
  dropped: ({ frames }) => {
    frames.splice(place, 1);
    return [place];
  },
  moved: ({ frames }) => {
    frames.splice(place, 2, frames[place + 1]!, frames[place]!);
    // One of the two passes. Which one depends on when its signature comes.
    return [];
  },
  cut: ({ frames }) => frames.splice(-3).map((_, offset) => frames.length + offset),
  replayed: (passing) => {
    passing.frames = [...passing.before];
    return [...passing.frames.keys()];
  },
  unsigned: ({ frames }) => [...frames.keys()],
  nothing: () => [],
};

const kinds = Object.keys(forgeries);
const kindOf = (group: number): string => kinds[group % kinds.length]!;

async function connect(url: string): Promise<Moq.Connection.Established> {
  const webtransport = await ownCertificate(page);
  return Moq.Connection.connect(new URL(url), { websocket: { enabled: false }, webtransport });
}

async function framesOf(group: Moq.Group.Consumer): Promise<Moq.Group.Frame[]> {
  const frames: Moq.Group.Frame[] = [];
  for (let frame = await group.readFrame(); frame; frame = await group.readFrame()) frames.push(frame);
  return frames;
}

/** Passes a track on as it comes. */
async function pass(from: Moq.Track.Subscriber, to: Moq.Track.Producer): Promise<void> {
  for (let group = await from.nextGroup(); group; group = await from.nextGroup()) {
    const passed = new Moq.Group.Producer(group.sequence);
    to.writeGroup(passed);
    for (let frame = await group.readFrame(); frame; frame = await group.readFrame()) passed.writeFrame(frame);
    passed.close();
  }
}

/** Passes a track on, each group as a whole, after `change`. */
async function passChanged(
  from: Moq.Track.Subscriber,
  to: Moq.Track.Producer,
  change: (passing: Passing, group: number) => void,
): Promise<void> {
  let before: Moq.Group.Frame[] = [];
  for (let group = await from.nextGroup(); group; group = await from.nextGroup()) {
    const frames = await framesOf(group);
    const passing = { frames: [...frames], before };
    // The first group has none before it.
    if (before.length > 0) change(passing, group.sequence);
    const passed = new Moq.Group.Producer(group.sequence);
    to.writeGroup(passed);
    for (const frame of passing.frames) passed.writeFrame(frame);
    passed.close();
    before = frames;
  }
}

/** Spoils the frames of a picture, and notes what it did. */
function forgeFrames(passing: Passing, group: number): void {
  const kind = kindOf(group);
  const places = forgeries[kind]!(passing);
  (page.forgeries![kind] ??= []).push(...places.map((index) => `video:${group}:${index}`));
}

/** Replays or withholds signatures. */
function forgeSignatures(passing: Passing, group: number): void {
  if (kindOf(group) === 'replayed') passing.frames = [...passing.before];
  if (kindOf(group) === 'unsigned') passing.frames = [];
}

page.forge = async (from, to, name) => {
  page.forgeries = {};
  const [source, target] = [await connect(from), await connect(to)];
  await announced(source, name);
  const path = Moq.Path.from(name);
  const [taken, broadcast] = [source.consume(path), new Moq.Broadcast.Producer()];
  const take = async (track: string): Promise<[Moq.Track.Subscriber, Moq.Track.Producer]> => {
    const subscriber = taken.subscribe(track, { priority: 60 });
    return [subscriber, broadcast.createTrack(track, await subscriber.info())];
  };
  for (const track of ['catalog.json', signatureTrack('catalog.json')]) void pass(...(await take(track)));
  void passChanged(...(await take('video')), forgeFrames);
  void passChanged(...(await take(signatureTrack('video'))), forgeSignatures);
  target.publish(path, broadcast);
};
