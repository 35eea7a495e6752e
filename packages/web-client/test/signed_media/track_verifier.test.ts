import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createSigner, signatureTrack, TrackSigner, TrackVerifier } from '../../src/signed_media/index.js';
import { MemoryTrack, sourceOf, type Frame } from './memory_track.js';
import { broadcast, deliver, frameOf, noFrames, patience, publish, signer, textOf, verify } from './signed_track.js';

const frames = (...texts: string[]): Frame[] => texts.map((text, index) => frameOf(text, index * 40));
const otherSigner = await createSigner(new Uint8Array(32).fill(8));
const [first, second] = [frames('key', 'a', 'b', 'c'), frames('other', 'd', 'e')];
const published = await publish([first, second]);
const [media, statements] = [published.media[0]!, published.statements[0]!];
const texts = (received: readonly { readonly payload: Uint8Array }[]): string[] => received.map(textOf);

/** Delivers the first group with these frames and, unless others are given, its statements. */
const deliverFirst = (received: readonly Frame[], signed: readonly Frame[] = statements) =>
  deliver([{ sequence: 0, frames: received, statements: signed }]);

describe('frames of an honest edge', () => {
  it('pass with their places and times, and the end of each group is known', async () => {
    const { events, counts } = await deliver([
      { sequence: 0, frames: media, statements },
      { sequence: 1, frames: published.media[1]!, statements: published.statements[1]! },
    ]);
    expect(counts).toEqual({ ...noFrames, verified: 7 });
    const ofFirst = events.filter(({ group }) => group === 0);
    expect(ofFirst).toEqual([
      ...first.map(({ payload, timestamp: { value } }, index) => {
        return { kind: 'frame', group: 0, index, timestamp: value, timescale: 1_000, payload };
      }),
      { kind: 'end', group: 0, complete: true },
    ]);
    expect(events.filter(({ group }) => group === 1)).toHaveLength(4);
  });

  it('pass when one signature covers several of them', async () => {
    const many = Array.from({ length: 200 }, (_, index) => frameOf(index, index));
    const [track, signatures] = [new MemoryTrack('video'), new MemoryTrack(signatureTrack('video'))];
    const group = new TrackSigner({ signer, broadcast, run: 1, media: track, signatures }).appendGroup();
    for (const frame of many) group.writeFrame(frame);
    await group.close();
    track.close();
    signatures.close();
    const verifier = new TrackVerifier({ verify, broadcast, track: 'video', source: sourceOf(track, signatures) });
    const values: number[] = [];
    for (let event = await verifier.next(); event; event = await verifier.next())
      if (event.kind === 'frame') values.push(event.payload[0]!);
    expect(values).toEqual(many.map(({ payload }) => payload[0]));
    expect(verifier.counts).toEqual({ ...noFrames, verified: 200 });
  });

  it('pass when many groups come at once', async () => {
    const many = await publish(Array.from({ length: 40 }, (_, group) => frames(`key ${group}`, 'a', 'b')));
    const groups = many.media.map((sent, sequence) => {
      return { sequence, frames: sent, statements: many.statements[sequence]! };
    });
    const { counts, events } = await deliver(groups);
    expect(counts).toEqual({ ...noFrames, verified: 120 });
    expect(events.filter((event) => event.kind === 'end' && event.complete)).toHaveLength(40);
  });

  it('pass once signatures come, however late', async () => {
    const [track, signatures] = [new MemoryTrack('video'), new MemoryTrack(signatureTrack('video'))];
    const verifier = new TrackVerifier({ verify, broadcast, track: 'video', source: sourceOf(track, signatures) });
    const [group, signed] = [track.insertGroup(0), signatures.insertGroup(0)];
    for (const frame of media) group.writeFrame(frame);
    for (const [index, statement] of statements.entries()) {
      if (index === media.length) break;
      signed.writeFrame(statement);
      expect(await verifier.next()).toMatchObject({ kind: 'frame', index });
    }
    verifier.close();
    expect(await verifier.next()).toEqual({ kind: 'end', group: 0, complete: false });
    expect(await verifier.next()).toBeUndefined();
    expect([track.isClosed, signatures.isClosed, group.isClosed, signed.isClosed]).toEqual([true, true, true, true]);
  });
});

describe('an edge that brings only a part', () => {
  it('of a track to a viewer who comes late: the group before misses nothing', async () => {
    const many = await publish(Array.from({ length: 8 }, () => frames('key', 'a')));
    const { counts, events } = await deliver(
      many.media.map((sent, sequence) => {
        return { sequence, ...(sequence > 0 && { frames: sent }), statements: many.statements[sequence]! };
      }),
    );
    expect(counts).toEqual({ ...noFrames, verified: 14 });
    expect(events.filter(({ group }) => group === 0)).toEqual([]);
  });

  it('of a long group, and the end of its stream: the track ends nevertheless', async () => {
    const long = await publish([Array.from({ length: 700 }, (_, index) => frameOf(index, index))]);
    const { counts } = await deliver([
      { sequence: 0, frames: long.media[0]!.slice(0, 1), statements: long.statements[0]! },
    ]);
    expect(counts.verified).toBe(1);
  });
});

describe('an edge that forges', () => {
  it('substitutes a frame: the others pass', async () => {
    const { frames: passed, counts } = await deliverFirst([media[0]!, frameOf('A', 40), media[2]!, media[3]!]);
    expect(texts(passed)).toEqual(['key', 'b', 'c']);
    expect(counts).toEqual({ ...noFrames, verified: 3, forged: 1, missing: 1 });
  });

  it('shows a frame at another time', async () => {
    const { frames: passed, counts } = await deliverFirst([media[0]!, frameOf('a', 41), media[2]!, media[3]!]);
    expect(texts(passed)).toEqual(['key', 'b', 'c']);
    expect(counts).toMatchObject({ forged: 1, missing: 1 });
  });

  it('inserts frames, and repeats some', async () => {
    const { frames: passed, counts } = await deliverFirst([
      ...[media[0]!, media[0]!, frameOf('X', 20), media[1]!, media[2]!, media[3]!, media[1]!, frameOf('Y', 160)],
    ]);
    expect(texts(passed)).toEqual(['key', 'a', 'b', 'c']);
    expect(counts).toEqual({ ...noFrames, verified: 4, forged: 4 });
  });

  it('changes the order of frames: none passes behind a later one', async () => {
    const { frames: passed, counts } = await deliverFirst([media[0]!, media[2]!, media[1]!, media[3]!]);
    // Which of the two passes depends on when its signature comes.
    expect([
      [0, 1, 3],
      [0, 2, 3],
    ]).toContainEqual(passed.map(({ index }) => index));
    expect(counts).toEqual({ ...noFrames, verified: 3, forged: 1, missing: 1 });
  });

  it('drops frames, also at the end: the group is not complete', async () => {
    const middle = await deliverFirst([media[0]!, media[2]!, media[3]!]);
    expect(texts(middle.frames)).toEqual(['key', 'b', 'c']);
    const end = await deliverFirst(media.slice(0, 2));
    expect(texts(end.frames)).toEqual(['key', 'a']);
    for (const { counts, events } of [middle, end]) {
      expect(counts).toMatchObject({ forged: 0 });
      expect(counts.missing).toBeGreaterThan(0);
      expect(events.at(-1)).toEqual({ kind: 'end', group: 0, complete: false });
    }
  });

  it('drops the end together with what is signed about it', async () => {
    const { events, counts } = await deliverFirst(media.slice(0, 2), statements.slice(0, 2));
    expect(counts).toEqual({ ...noFrames, verified: 2 });
    expect(events.at(-1)).toEqual({ kind: 'end', group: 0, complete: false });
  });

  it('drops a statement: the frame about which it was does not pass', async () => {
    const { frames: passed } = await deliverFirst(media, [statements[0]!, ...statements.slice(2)]);
    expect(texts(passed)).toEqual(['key', 'b', 'c']);
  });

  it('withholds signatures: nothing passes', async () => {
    const { events, counts } = await deliver([{ sequence: 0, frames: media }]);
    expect([events, counts]).toEqual([[], { ...noFrames, unsigned: 4 }]);
  });

  it('has no track of signatures: nothing passes', async () => {
    const track = new MemoryTrack('video');
    const verifier = new TrackVerifier({ verify, broadcast, track: 'video', source: sourceOf(track) });
    const group = track.insertGroup(0);
    for (const frame of media) group.writeFrame(frame);
    group.close();
    track.close();
    expect(await verifier.next()).toBeUndefined();
    expect(verifier.counts).toEqual({ ...noFrames, unsigned: 4 });
  });

  it('replays a group under another number, with its signatures', async () => {
    const { events, counts } = await deliver([{ sequence: 5, frames: media, statements }]);
    expect(events).toEqual([]);
    expect(counts).toMatchObject({ verified: 0, unsigned: 4, refusedStatements: statements.length });
  });

  it('replays a group a second time', async () => {
    const again = { sequence: 0, frames: media, statements };
    const { counts, frames: passed } = await deliver([again, again]);
    expect([counts.verified, texts(passed)]).toEqual([4, ['key', 'a', 'b', 'c']]);
  });

  it.each([
    ['of another broadcast', { broadcast: 'studio/other' }],
    ['of another key', { signer: otherSigner }],
  ])('replays a group %s', async (_name, options) => {
    const other = await publish([first], options);
    const { events, counts } = await deliver([{ sequence: 0, frames: media, statements: other.statements[0]! }]);
    expect(events).toEqual([]);
    expect(counts).toMatchObject({ verified: 0, unsigned: 4 });
  });

  it('replays an earlier run of the publisher', async () => {
    const earlier = await publish([frames('old')], { run: 3 });
    const now = await publish([first, second], { run: 4 });
    const replayed = [
      { sequence: 1, frames: now.media[1]!, statements: now.statements[1]! },
      { sequence: 0, frames: earlier.media[0]!, statements: earlier.statements[0]! },
    ];
    const { frames: passed } = await deliver(replayed, { earliestRun: 4 });
    expect(texts(passed)).toEqual(['other', 'd', 'e']);
    const { frames: ofOneRun } = await deliver(replayed);
    expect(ofOneRun).not.toHaveLength(0);
    expect(ofOneRun.every(({ group }) => group === ofOneRun[0]!.group)).toBe(true);
  });

  it('says that the track has another timescale', async () => {
    const [track, signatures] = [new MemoryTrack('video', 2_000), new MemoryTrack(signatureTrack('video'))];
    const verifier = new TrackVerifier({ verify, broadcast, track: 'video', source: sourceOf(track, signatures) });
    const [group, signed] = [track.insertGroup(0), signatures.insertGroup(0)];
    for (const frame of media) group.writeFrame(frame);
    for (const statement of statements) signed.writeFrame(statement);
    for (const part of [group, signed, track, signatures]) part.close();
    expect(await verifier.next()).toBeUndefined();
    expect(verifier.counts.refusedStatements).toBe(statements.length);
  });
});

describe('the memory that an edge can take', () => {
  /** A verifier whose tracks an edge fills */
  function start() {
    const [track, signatures] = [new MemoryTrack('video'), new MemoryTrack(signatureTrack('video'))];
    const verifier = new TrackVerifier({ verify, broadcast, track: 'video', source: sourceOf(track, signatures) });
    return { track, signatures, verifier };
  }

  it('is bounded by bytes of frames that nobody signed', async () => {
    const { track, verifier } = start();
    const group = track.insertGroup(0);
    for (let index = 0; index < 24; index += 1)
      group.writeFrame({ ...frameOf(1, index), payload: new Uint8Array(1_000_000) });
    await expect.poll(() => verifier.counts.unsigned, patience).toBe(16);
    verifier.close();
    expect(verifier.counts.unsigned).toBe(24);
  });

  it('is bounded by their number', async () => {
    const { track, verifier } = start();
    const group = track.insertGroup(0);
    for (let index = 0; index < 300; index += 1) group.writeFrame(frameOf(1, index));
    await expect.poll(() => verifier.counts.unsigned, patience).toBe(44);
    verifier.close();
  });

  it('is that of four groups, and those without signatures leave first', async () => {
    const { track, signatures, verifier } = start();
    const [group, signed] = [track.insertGroup(0), signatures.insertGroup(0)];
    group.writeFrame(media[0]!);
    signed.writeFrame(statements[0]!);
    expect(await verifier.next()).toMatchObject({ group: 0, index: 0 });
    const others = Array.from({ length: 20 }, (_, index) => track.insertGroup(1_000 + index));
    await expect.poll(() => others.filter(({ isClosed }) => isClosed).length, patience).toBe(17);
    group.writeFrame(media[1]!);
    signed.writeFrame(statements[1]!);
    expect(await verifier.next()).toMatchObject({ group: 0, index: 1 });
    verifier.close();
  });

  it('ends reading statements that are refused', async () => {
    const { track, signatures, verifier } = start();
    track.insertGroup(0).writeFrame(media[0]!);
    const signed = signatures.insertGroup(0);
    for (let index = 0; index < 100; index += 1) signed.writeFrame(frameOf(index, 0));
    await expect.poll(() => signed.isClosed, patience).toBe(true);
    expect(verifier.counts.refusedStatements).toBe(16);
    expect(signed.unread).toBe(84);
    verifier.close();
  });

  it('does not grow while nobody reads what passed', async () => {
    const many = Array.from({ length: 150 }, (_, index) => frameOf(index, index));
    const [sent] = (await publish([many])).statements;
    const { track, signatures, verifier } = start();
    const [group, signed] = [track.insertGroup(0), signatures.insertGroup(0)];
    for (const statement of sent!) signed.writeFrame(statement);
    for (const frame of many) group.writeFrame(frame);
    await expect.poll(() => verifier.counts.verified, patience).toBeGreaterThanOrEqual(64);
    for (let turns = 0; turns < 100; turns += 1) await turn();
    // Two more may have been on their way.
    expect(verifier.counts.verified).toBeLessThanOrEqual(66);
    for (let index = 0; index < 150; index += 1) expect(await verifier.next()).toMatchObject({ index });
    verifier.close();
  });
});

describe('a track that ends', () => {
  it('is over although streams of signatures go on', async () => {
    const [track, signatures] = [new MemoryTrack('video'), new MemoryTrack(signatureTrack('video'))];
    const verifier = new TrackVerifier({ verify, broadcast, track: 'video', source: sourceOf(track, signatures) });
    const [group, signed] = [track.insertGroup(0), signatures.insertGroup(0)];
    for (const frame of media) group.writeFrame(frame);
    for (const statement of statements) signed.writeFrame(statement);
    const more = signatures.insertGroup(1);
    for (let index = 0; index < media.length; index += 1) expect(await verifier.next()).toMatchObject({ index });
    group.close();
    expect(await verifier.next()).toEqual({ kind: 'end', group: 0, complete: true });
    track.close();
    expect(await verifier.next()).toBeUndefined();
    expect([signatures.isClosed, signed.isClosed, more.isClosed]).toEqual([true, true, true]);
  });
});

describe('a track that fails', () => {
  it('tells why, behind the frames that passed', async () => {
    const [track, signatures] = [new MemoryTrack('video'), new MemoryTrack(signatureTrack('video'))];
    const verifier = new TrackVerifier({ verify, broadcast, track: 'video', source: sourceOf(track, signatures) });
    const [group, signed] = [track.insertGroup(0), signatures.insertGroup(0)];
    group.writeFrame(media[0]!);
    signed.writeFrame(statements[0]!);
    expect(await verifier.next()).toMatchObject({ index: 0 });
    track.close(new Error('the session is over'));
    await expect(verifier.next()).rejects.toThrow('the session is over');
  });
});
