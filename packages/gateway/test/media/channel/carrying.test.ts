import { setImmediate as turn } from 'node:timers/promises';
import { frameHeader } from '@sheaf/native';
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { ChannelPublisher } from '../../../src/media/channel/channel_publisher.js';
import { ChannelReceiver } from '../../../src/media/channel/channel_receiver.js';
import { encodeEnd, encodeFrameHead, encodeGroup, encodeList } from '../../../src/media/channel/pieces.js';
import { Broadcast } from '../../../src/media/model/broadcast.js';
import { Broadcasts } from '../../../src/media/model/broadcasts.js';
import { makeFrame } from '../../../src/media/model/frame.js';
import { MemoryBudget } from '../../../src/media/model/memory_budget.js';
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
  const broadcasts = new Broadcasts(new MemoryBudget(4 * limits.bytes));
  const publisher = new ChannelPublisher({ source: channel, broadcasts, origin: 9n, clock });
  return { clock, channel, broadcasts, publisher };
}

type Source = ReturnType<typeof startSource>;

/** A broadcast with a catalogue, whose tracks the test writes. */
function publish({ broadcasts, clock }: Pick<Source, 'broadcasts' | 'clock'>, name = 'studio', written = catalog) {
  const tracks = new Map<string, Track>();
  const open = (track: Track): void => {
    tracks.set(track.name, track);
    track.accept(info);
    if (track.name === 'catalog.json') addGroup(track, 0, [written]);
  };
  const broadcast = new Broadcast(name, {
    source: { open },
    limits,
    memory: broadcasts.memory.shareOf('192.0.2.1'),
    publication: { token: 'one', startedAt: 0, network: '' },
    clock,
    hops: [5n],
  });
  broadcasts.add(broadcast);
  const track = async (of: string): Promise<Track> => {
    await expect.poll(() => tracks.get(of)).toBeDefined();
    return tracks.get(of)!;
  };
  return { broadcast, track, wanted: () => [...tracks.keys()] };
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
  const broadcasts = new Broadcasts(new MemoryBudget(4 * limits.bytes));
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
    expect(
      edge.broadcasts
        .get('studio')!
        .track('video')
        .group(4)!
        .frames.map(({ timestamp }) => timestamp),
    ).toEqual([0, 40, 80]);
    source.broadcasts.remove(broadcast);
    await settle();
    expect(edge.broadcasts.get('studio')).toBeUndefined();
  });

  it('come with the signatures of tracks that the catalogue calls signed', async () => {
    const source = startSource();
    const edge = startEdge(source.clock);
    join(edge.receiver, source);
    const signed = JSON.stringify({ ...JSON.parse(catalog), signed: ['catalog.json', 'video', 'other'] });
    const { track, wanted } = publish(source, 'studio', signed);
    addGroup(await track('video.sig'), 4, ['statement']);
    await settle();
    expect(wanted()).toEqual(['catalog.json', 'video', 'audio', 'catalog.json.sig', 'video.sig']);
    expect(edge.textOf('video.sig', 4)).toBe('statement.');
  });

  it.each([
    ['a list of numbers', [1]],
    ['no list', 'video'],
  ])('come when the catalogue calls %s signed', async (_name, list) => {
    const source = startSource();
    const { wanted } = publish(source, 'studio', JSON.stringify({ ...JSON.parse(catalog), signed: list }));
    await settle();
    expect(wanted()).toEqual(['catalog.json', 'video', 'audio']);
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
    first.lose(new Error('the channel is over'));
    await settle();
    addFrame(video, 0, 'meanwhile');
    await settle();
    expect(edge.textOf('video', 0)).toBe('key delta…');
    const group = edge.broadcasts.get('studio')!.track('video').group(0);
    join(edge.receiver, source);
    await settle();
    addFrame(video, 0, 'later');
    video.finish(video.group(0)!);
    await settle();
    expect(edge.textOf('video', 0)).toBe('key delta meanwhile later.');
    expect(edge.broadcasts.get('studio')!.track('video').group(0)).toBe(group);
  });

  it('end when the channel does not come back within ten seconds', async () => {
    const source = startSource();
    const edge = startEdge(source.clock);
    const first = join(edge.receiver, source);
    publish(source);
    await settle();
    first.lose(new Error('the channel is over'));
    await settle();
    source.clock.advance(9_999);
    expect(edge.broadcasts.get('studio')).toBeDefined();
    source.clock.advance(1);
    expect(edge.broadcasts.get('studio')).toBeUndefined();
  });

  it('mark a group of which a part did not come, and go on behind it', async () => {
    const source = startSource();
    const edge = startEdge(source.clock);
    const joined = join(edge.receiver, source);
    const { track } = publish(source);
    const video = await track('video');
    // Too large to be repeated
    addGroup(video, 0, ['key'.padEnd(70_000)], false);
    await settle();
    joined.lose(new Error('a part did not come in time'), { isOver: false });
    addFrame(video, 0, 'lost');
    await settle();
    source.clock.advance(10_000);
    addFrame(video, 0, 'later');
    video.finish(video.group(0)!);
    addGroup(video, 1, ['next']);
    await settle();
    expect([edge.receiver.unreadable, edge.textOf('video', 1)]).toEqual([1, 'next.']);
    expect(edge.textOf('video', 0)).toMatch(/^key +!$/);
  });

  it('come in their order, when a later segment is heard first', async () => {
    const source = startSource();
    const edge = startEdge(source.clock);
    const joined = join(edge.receiver, source);
    const { track } = publish(source);
    const video = await track('video');
    await settle();
    joined.hold();
    source.clock.advance(1_000);
    addGroup(video, 0, ['a', 'b'], false);
    await settle();
    source.clock.advance(10_000);
    await settle();
    addFrame(video, 0, 'c');
    await settle();
    const [before, ...held] = joined.held;
    for (const id of held) joined.hear(id);
    await settle();
    expect(edge.textOf('video', 0)).toBeUndefined();
    joined.hear(before!);
    await settle();
    expect(edge.textOf('video', 0)).toBe('a b c…');
  });

  it('have no track that the channel does not bring', async () => {
    const source = startSource();
    const edge = startEdge(source.clock);
    join(edge.receiver, source);
    publish(source);
    await settle();
    const wanted = edge.broadcasts.get('studio')!.track('subtitles').ready();
    source.clock.advance(10_000);
    await expect(wanted).rejects.toMatchObject({ kind: 'not_found' });
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

it('reads any pieces within its bounds, and goes on with the next segment', async () => {
  const text = fc.constantFrom('studio', 'video', 'x');
  const small = fc.nat(3);
  const list = fc.record({
    origin: fc.constant(1n),
    broadcasts: fc.array(fc.record({ id: small, name: text, hops: fc.constant([]) }), { maxLength: 3 }),
  });
  const group = fc.record({
    ...{ broadcast: small, track: text, info: fc.constant(info) },
    ...{ sequence: small, from: small },
  });
  const piece = fc.oneof(
    list.map(encodeList),
    group.map(encodeGroup),
    small.map((of) => Buffer.concat([encodeFrameHead(of), makeFrame(0, 1, Buffer.from('f')).record])),
    fc.record({ group: small, complete: fc.boolean() }).map(encodeEnd),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  );
  const segment = fc
    .tuple(list.map(encodeList), fc.array(piece, { maxLength: 20 }))
    .map(([first, rest]) => [first, ...rest]);
  await fc.assert(
    fc.asyncProperty(fc.array(segment, { maxLength: 4 }), async (segments) => {
      const clock = new ManualClock();
      const channel = new MemoryChannel();
      const { broadcasts, receiver, textOf } = startEdge(clock);
      join(receiver, { channel });
      const last = [
        encodeList({ origin: 1n, broadcasts: [{ id: 9, name: 'last', hops: [] }] }),
        encodeGroup({ broadcast: 9, track: 'video', info, sequence: 0, from: 0 }),
        Buffer.concat([encodeFrameHead(0), makeFrame(0, 1, Buffer.from('f')).record]),
        encodeEnd({ group: 0, complete: true }),
      ];
      for (const pieces of [...segments, last]) {
        const out = channel.openGroup();
        for (const bytes of pieces) await out.write(Buffer.concat([frameHeader(bytes.length), bytes]));
        await out.end();
      }
      await settle();
      expect([...broadcasts.all].map(({ name }) => name)).toEqual(['last']);
      expect(textOf('video', 0, 'last')).toBe('f.');
    }),
    { numRuns: 200 },
  );
});
