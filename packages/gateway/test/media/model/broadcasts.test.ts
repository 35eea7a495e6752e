import { describe, expect, it } from 'vitest';
import { Broadcast } from '../../../src/media/model/broadcast.js';
import { Broadcasts } from '../../../src/media/model/broadcasts.js';
import { MemoryBudget } from '../../../src/media/model/memory_budget.js';
import type { Track } from '../../../src/media/model/track.js';
import { ManualClock } from '../../support/manual_clock.js';

const limits = { history: 10_000, bytes: 100_000 };

function openBroadcast(name = 'studio/clock', memory = new MemoryBudget(1_000_000).shareOf('192.0.2.1')) {
  const clock = new ManualClock();
  const calls: string[] = [];
  const source = {
    open: (track: Track) => void calls.push(`open ${track.name}`),
    close: (track: Track) => void calls.push(`close ${track.name}`),
  };
  return {
    clock,
    calls,
    broadcast: new Broadcast(name, {
      source,
      limits,
      memory,
      publication: { token: '', startedAt: 0, network: '' },
      clock,
    }),
  };
}

describe('the tracks of a broadcast', () => {
  it('are opened once, when somebody wants them, and closed a while after the last reader', () => {
    const { broadcast, clock, calls } = openBroadcast();
    const track = broadcast.track('video');
    const readers = [track.read(), broadcast.track('video').read()];
    clock.advance(60_000);
    for (const reader of readers) reader.close();
    clock.advance(9_000);
    expect(calls).toEqual(['open video']);
    clock.advance(2_000);
    expect(calls).toEqual(['open video', 'close video']);
    expect(broadcast.track('video')).not.toBe(track);
  });

  it('stay open while somebody asks for them again and again', () => {
    const { broadcast, clock, calls } = openBroadcast();
    for (let round = 0; round < 10; round += 1) {
      broadcast.track('video');
      clock.advance(6_000);
    }
    expect(calls).toEqual(['open video']);
  });

  it('give their memory back when they are closed', () => {
    const { broadcast, clock } = openBroadcast();
    const track = broadcast.track('video');
    track.write(track.begin(0), 0, Buffer.alloc(1_000));
    expect(broadcast.bytes).toBeGreaterThan(1_000);
    clock.advance(11_000);
    expect(broadcast.bytes).toBe(0);
  });

  it('are bounded in number', () => {
    const { broadcast } = openBroadcast();
    for (let index = 0; index < 64; index += 1) broadcast.track(`track ${index}`);
    expect(() => broadcast.track('one more')).toThrow(expect.objectContaining({ kind: 'too_large' }));
  });

  it('that failed are opened anew', () => {
    const { broadcast, calls } = openBroadcast();
    broadcast.track('video').fail(Object.assign(new Error('gone')) as never);
    broadcast.track('video');
    expect(calls).toEqual(['open video', 'close video', 'open video']);
  });

  it('end with the broadcast; readers still get what is there', async () => {
    const { broadcast, clock } = openBroadcast();
    const track = broadcast.track('video');
    const reader = track.read();
    const group = track.begin(0);
    track.write(group, 0, Buffer.from('key'));
    track.finish(group);
    broadcast.end();
    expect((await (await reader.next())?.frame(0))?.payload.toString()).toBe('key');
    expect(await reader.next()).toBeUndefined();
    reader.close();
    expect(clock.timers).toBe(0);
    expect(broadcast.bytes).toBe(0);
  });
});

it('an ended broadcast gives its memory back although a reader stays', async () => {
  const { broadcast, clock } = openBroadcast();
  const [read, unread] = [broadcast.track('video'), broadcast.track('audio')];
  const reader = read.read();
  for (const track of [read, unread]) {
    const group = track.begin(0);
    track.write(group, 0, Buffer.alloc(10_000));
    track.finish(group);
  }
  const group = await reader.next();
  expect(broadcast.bytes).toBeGreaterThan(20_000);
  broadcast.end();
  clock.advance(limits.history - 1);
  expect(broadcast.bytes).toBeGreaterThan(10_000);
  expect(broadcast.bytes).toBeLessThan(20_000);
  clock.advance(1);
  expect(broadcast.bytes).toBe(0);
  await expect(group!.frame(0)).rejects.toMatchObject({ kind: 'expired' });
  expect(clock.timers).toBe(0);
});

describe('the broadcasts of a route', () => {
  it('are told to those who watch; the newest of a name counts', () => {
    const broadcasts = new Broadcasts(new MemoryBudget(1_000_000));
    const [first, second] = [openBroadcast().broadcast, openBroadcast().broadcast];
    const told: string[] = [];
    broadcasts.watch((broadcast, active) => told.push(`${broadcast === first ? 'first' : 'second'} ${active}`));
    broadcasts.add(first);
    broadcasts.add(second);
    broadcasts.remove(first);
    expect(first.ended).toBe(true);
    expect(broadcasts.get('studio/clock')).toBe(second);
    broadcasts.remove(second);
    expect(told).toEqual(['first true', 'second true', 'second false']);
    expect(broadcasts.get('studio/clock')).toBeUndefined();
  });

  it('are bounded in number', () => {
    const broadcasts = new Broadcasts(new MemoryBudget(1_000_000));
    for (let index = 0; index < 256; index += 1) broadcasts.add(openBroadcast(`${index}`).broadcast);
    expect(() => broadcasts.add(openBroadcast('one more').broadcast)).toThrow();
    broadcasts.add(openBroadcast('7').broadcast);
  });
});

describe('the memory of all broadcasts', () => {
  /** Adds complete groups of 10 KB to a track, until a broadcast has taken many more than it can keep. */
  function fill(broadcast: Broadcast): Track {
    const track = broadcast.track('video');
    for (let sequence = 0; sequence < 20; sequence += 1) {
      const group = track.begin(sequence);
      track.write(group, 0, Buffer.alloc(10_000));
      track.finish(group);
    }
    return track;
  }

  it('is bounded: a publisher with many broadcasts gets half, and another one still has room', () => {
    const memory = new MemoryBudget(400_000);
    const greedy = ['a', 'b', 'c', 'd'].map((name) => openBroadcast(name, memory.shareOf('192.0.2.1')).broadcast);
    for (const broadcast of greedy) fill(broadcast);
    expect(memory.used).toBeLessThanOrEqual(200_000);
    expect(memory.used).toBeGreaterThan(150_000);
    const { broadcast } = openBroadcast('e', memory.shareOf('192.0.2.2'));
    expect(fill(broadcast).newest?.complete).toBe(true);
    expect(broadcast.bytes).toBeGreaterThan(80_000);
    expect(memory.used).toBeLessThanOrEqual(300_000);
    for (const each of [...greedy, broadcast]) each.end();
    expect(memory.used).toBe(0);
  });

  it('refuses a group when nothing can leave for it', () => {
    const memory = new MemoryBudget(10_000);
    const { broadcast } = openBroadcast('a', memory.shareOf('192.0.2.1'));
    const track = broadcast.track('video');
    const group = track.begin(0);
    track.write(group, 0, Buffer.alloc(6_000));
    expect(group.error).toMatchObject({ kind: 'too_large' });
    expect(memory.used).toBe(0);
  });
});
