import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { ChannelPublisher } from '../../../src/media/channel/channel_publisher.js';
import { ChannelReceiver } from '../../../src/media/channel/channel_receiver.js';
import { Broadcast } from '../../../src/media/model/broadcast.js';
import { Broadcasts } from '../../../src/media/model/broadcasts.js';
import type { Track } from '../../../src/media/model/track.js';
import { ManualClock } from '../../support/manual_clock.js';
import { MemoryChannel, type MemoryReceiver } from '../../support/media_channel.js';

const limits = { history: 60_000, bytes: 16 * 1_024 * 1_024 };
const info = { priority: 1, ordered: false, cache: 1_000, timescale: 1_000 };
const catalog = JSON.stringify({
  video: { renditions: { video: { codec: 'vp09.00.10.08' } } },
  audio: { renditions: { audio: { codec: 'opus', sampleRate: 48_000, numberOfChannels: 2 } } },
});

/** A gateway whose broadcasts a channel carries. */
function startSource() {
  const clock = new ManualClock();
  const channel = new MemoryChannel();
  const broadcasts = new Broadcasts();
  const publisher = new ChannelPublisher({ source: channel, broadcasts, origin: 9n, clock });
  return { clock, channel, broadcasts, publisher };
}

type Source = ReturnType<typeof startSource>;

/** A broadcast with a catalogue, whose tracks the test writes. */
function publish({ broadcasts, clock }: Pick<Source, 'broadcasts' | 'clock'>, name = 'studio') {
  const tracks = new Map<string, Track>();
  const open = (track: Track): void => {
    tracks.set(track.name, track);
    track.accept(info);
    if (track.name === 'catalog.json') addGroup(track, 0, [catalog]);
  };
  const broadcast = new Broadcast(name, { source: { open }, limits, clock, hops: [5n] });
  broadcasts.add(broadcast);
  const track = async (of: string): Promise<Track> => {
    await expect.poll(() => tracks.get(of)).toBeDefined();
    return tracks.get(of)!;
  };
  return { broadcast, track };
}

function addGroup(track: Track, sequence: number, frames: readonly string[], finish = true): void {
  const group = track.begin(sequence);
  for (const [index, text] of frames.entries()) track.write(group, index * 40, Buffer.from(text));
  if (finish) track.finish(group);
}

function addFrame(track: Track, sequence: number, text: string): void {
  const group = track.group(sequence)!;
  track.write(group, group.frames.length * 40, Buffer.from(text));
}

/** An edge that takes the broadcasts of a channel. */
function startEdge(clock: ManualClock) {
  const broadcasts = new Broadcasts();
  const receiver = new ChannelReceiver({ broadcasts, limits, clock, log: pino({ level: 'silent' }) });
  const textOf = (track: string, sequence: number, name = 'studio'): string | undefined => {
    const group = broadcasts.get(name)?.track(track).group(sequence);
    return group && `${group.frames.map(({ payload }) => payload.toString()).join(' ')}${ending(group)}`;
  };
  return { broadcasts, receiver, textOf };
}

const ending = ({ complete, error }: { complete: boolean; error: Error | undefined }): string =>
  complete ? '.' : error ? '!' : '…';

function join(receiver: ChannelReceiver, { channel }: Pick<Source, 'channel'>): MemoryReceiver {
  const joined = channel.join();
  void receiver.run(joined);
  return joined;
}

/** Waits until nothing more happens in memory. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) await turn();
}

describe('broadcasts over a channel', () => {
  it('come with their tracks, groups, frames and ends', async () => {
    const source = startSource();
    const edge = startEdge(source.clock);
    join(edge.receiver, source);
    const { broadcast, track } = publish(source);
    const [video, audio] = [await track('video'), await track('audio')];
    addGroup(video, 4, ['key', 'delta'], false);
    addGroup(audio, 70, ['a', 'b']);
    addGroup(audio, 71, ['c']);
    await settle();
    expect(edge.textOf('video', 4)).toBe('key delta…');
    addFrame(video, 4, 'more');
    video.finish(video.group(4)!);
    await settle();
    expect([edge.textOf('video', 4), edge.textOf('audio', 70), edge.textOf('audio', 71)]).toEqual([
      'key delta more.',
      'a b.',
      'c.',
    ]);
    expect(edge.textOf('catalog.json', 0)).toBe(`${catalog}.`);
    expect(edge.broadcasts.get('studio')!.hops).toEqual([5n, 9n]);
    expect(edge.broadcasts.get('studio')!.track('video').info).toEqual(info);
    expect(edge.broadcasts.get('studio')!.track('video').group(4)!.frames.map(({ timestamp }) => timestamp)).toEqual([
      0, 40, 80,
    ]);
    source.broadcasts.remove(broadcast);
    await settle();
    expect(edge.broadcasts.get('studio')).toBeUndefined();
  });

  it('begin for who comes late with the newest key frame and the catalogue', async () => {
    const source = startSource();
    const { track } = publish(source);
    const video = await track('video');
    addGroup(video, 0, ['old']);
    await settle();
    source.clock.advance(1_000);
    addGroup(video, 1, ['key', 'delta'], false);
    await settle();
    const edge = startEdge(source.clock);
    join(edge.receiver, source);
    await settle();
    expect(edge.textOf('catalog.json', 0)).toBe(`${catalog}.`);
    expect([edge.textOf('video', 0), edge.textOf('video', 1)]).toEqual([undefined, 'key delta…']);
  });

  it('stay in the channel when nothing happens for long', async () => {
    const source = startSource();
    publish(source);
    await settle();
    source.clock.advance(10_000);
    await settle();
    expect(source.channel.groups).toHaveLength(2);
    const edge = startEdge(source.clock);
    join(edge.receiver, source);
    await settle();
    expect(edge.textOf('catalog.json', 0)).toBe(`${catalog}.`);
  });

  it('go on where they were after the channel was lost, without a frame twice', async () => {
    const source = startSource();
    const edge = startEdge(source.clock);
    const first = join(edge.receiver, source);
    const { track } = publish(source);
    const video = await track('video');
    addGroup(video, 0, ['key', 'delta'], false);
    await settle();
    first.end();
    source.channel.groups.at(-1)!.fail(new Error('the channel is over'));
    await settle();
    addFrame(video, 0, 'later');
    source.clock.advance(10_000 - 1);
    source.clock.advance(1);
    await settle();
    // The grace of ten seconds is over, and the source has begun a segment.
    expect(edge.broadcasts.get('studio')).toBeUndefined();
    join(edge.receiver, source);
    await settle();
    expect(edge.textOf('video', 0)).toBe('key delta later…');
  });

  it('mark a group of which a part did not come', async () => {
    const source = startSource();
    const edge = startEdge(source.clock);
    const joined = join(edge.receiver, source);
    const { track } = publish(source);
    const video = await track('video');
    addGroup(video, 0, ['key'], false);
    await settle();
    expect(edge.textOf('video', 0)).toBe('key…');
    joined.removeAllListeners('group');
    source.channel.groups.at(-1)!.fail(new Error('a part did not come in time'));
    await settle();
    expect(edge.receiver.unreadable).toBe(1);
  });

  it('skip groups that are no segments', async () => {
    const source = startSource();
    const edge = startEdge(source.clock);
    join(edge.receiver, source);
    const writer = source.channel.openGroup();
    await writer.write(Buffer.from('\u0002{}'));
    await writer.end();
    publish(source);
    await settle();
    source.clock.advance(10_000);
    await settle();
    expect(edge.receiver.unreadable).toBe(1);
    expect(edge.textOf('catalog.json', 0)).toBe(`${catalog}.`);
  });
});
