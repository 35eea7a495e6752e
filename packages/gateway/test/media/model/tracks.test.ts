import { describe, expect, it } from 'vitest';
import { GroupCache } from '../../../src/media/model/group_cache.js';
import { MemoryBudget } from '../../../src/media/model/memory_budget.js';
import { Track } from '../../../src/media/model/track.js';
import { ManualClock } from '../../support/manual_clock.js';

const limits = { history: 10_000, bytes: 100_000 };

function openTrack(bytes = limits.bytes) {
  const clock = new ManualClock();
  const cache = new GroupCache({ ...limits, bytes }, clock, new MemoryBudget(Infinity).shareOf('192.0.2.1'));
  return { clock, cache, track: new Track('video', cache) };
}

/** Adds a complete group with one frame. */
function addGroup(track: Track, sequence: number, bytes = 1_000): void {
  const group = track.begin(sequence);
  track.write(group, 0, Buffer.alloc(bytes, sequence));
  track.finish(group);
}

const sequences = (track: Track): number[] => track.groups.map(({ sequence }) => sequence);

describe('a track', () => {
  it('tells its properties once the publisher has', async () => {
    const { track } = openTrack();
    const ready = track.ready();
    const info = { priority: 1, ordered: false, cache: 0, timescale: 1_000 };
    track.accept(info);
    expect(await ready).toEqual(info);
  });

  it('keeps groups for its history, and the newest for ever', () => {
    const { track, clock } = openTrack();
    addGroup(track, 0);
    clock.advance(6_000);
    addGroup(track, 1);
    clock.advance(6_000);
    addGroup(track, 2);
    expect(sequences(track)).toEqual([1, 2]);
    clock.advance(60_000);
    expect(sequences(track)).toEqual([1, 2]);
    addGroup(track, 3);
    expect(sequences(track)).toEqual([3]);
  });

  it('drops the oldest groups when the memory is used up', () => {
    const { track, cache } = openTrack(10_000);
    for (let sequence = 0; sequence < 20; sequence += 1) addGroup(track, sequence, 2_000);
    expect(sequences(track)).toEqual([17, 18, 19]);
    expect(cache.bytes).toBeLessThanOrEqual(10_000);
  });

  it('shares the memory with the other tracks of its broadcast', () => {
    const { track, cache } = openTrack(10_000);
    const other = new Track('audio', cache);
    addGroup(other, 0, 500);
    addGroup(track, 0, 3_000);
    addGroup(other, 1, 500);
    for (let sequence = 1; sequence < 5; sequence += 1) addGroup(track, sequence, 3_000);
    expect(sequences(other)).toEqual([1]);
    expect(sequences(track)).toEqual([4]);
  });

  it('ends a group that alone needs more memory than there is, and goes on with the next', () => {
    const { track, cache } = openTrack(10_000);
    const group = track.begin(0);
    for (let frame = 0; frame < 20; frame += 1) track.write(group, frame, Buffer.alloc(1_000));
    expect(group.error?.kind).toBe('too_large');
    addGroup(track, 1);
    expect(sequences(track)).toEqual([1]);
    expect(cache.bytes).toBeLessThan(3_000);
  });

  it('counts groups without frames, and frames without bytes', () => {
    const { track } = openTrack(20_000);
    for (let sequence = 0; sequence < 1_000; sequence += 1) track.begin(sequence);
    expect(track.groups.length).toBeLessThan(20);
    const { track: other } = openTrack(20_000);
    const group = other.begin(0);
    for (let frame = 0; frame < 1_000; frame += 1) other.write(group, frame, Buffer.alloc(0));
    expect(group.frames.length).toBeLessThan(80);
  });

  it('refuses numbers that it has, or has dropped', () => {
    const { track, clock } = openTrack();
    addGroup(track, 5);
    expect(() => track.begin(5)).toThrow(expect.objectContaining({ kind: 'duplicate' }));
    clock.advance(20_000);
    addGroup(track, 6);
    addGroup(track, 7);
    expect(() => track.begin(5)).toThrow(expect.objectContaining({ kind: 'expired' }));
  });
});

describe('a reader', () => {
  it('begins with the newest group, or with any that is kept', async () => {
    const { track } = openTrack();
    for (const sequence of [3, 4, 5]) addGroup(track, sequence);
    expect((await track.read().next())?.sequence).toBe(5);
    const early = track.read(4);
    expect((await early.next())?.sequence).toBe(4);
    expect((await early.next())?.sequence).toBe(5);
  });

  it('gets groups that begin later, in the order in which they begin', async () => {
    const { track } = openTrack();
    const reader = track.read();
    const first = reader.next();
    addGroup(track, 8);
    addGroup(track, 7);
    expect((await first)?.sequence).toBe(8);
    expect((await reader.next())?.sequence).toBe(7);
  });

  it('follows the frames of a group to its end', async () => {
    const { track } = openTrack();
    const group = track.begin(0);
    const frames = (async () => {
      const seen: string[] = [];
      for (let index = 0; ; index += 1) {
        const frame = await group.frame(index);
        if (frame === undefined) return seen;
        seen.push(`${frame.timestamp} ${frame.payload.toString()}`);
      }
    })();
    track.write(group, 40, Buffer.from('key'));
    await Promise.resolve();
    track.write(group, 80, Buffer.from('delta'));
    track.finish(group);
    expect(await frames).toEqual(['40 key', '80 delta']);
  });

  it('that is slow skips whole groups', async () => {
    const { track } = openTrack(10_000);
    const reader = track.read();
    for (let sequence = 0; sequence < 20; sequence += 1) addGroup(track, sequence, 2_000);
    expect((await reader.next())?.sequence).toBe(17);
    expect(reader.skipped).toBe(17);
  });

  it('of a group that is dropped meanwhile gets an error, not a part', async () => {
    const { track } = openTrack(10_000);
    addGroup(track, 0, 2_000);
    const group = track.group(0)!;
    for (let sequence = 1; sequence < 20; sequence += 1) addGroup(track, sequence, 2_000);
    await expect(group.frame(0)).rejects.toMatchObject({ kind: 'expired' });
  });

  it('ends with its track, in order or with the reason', async () => {
    const { track } = openTrack();
    const reader = track.read();
    const next = reader.next();
    track.end();
    expect(await next).toBeUndefined();
  });
});
