import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openStatement } from '../../src/signed_media/statement.js';
import { Time, type Frame } from './memory_track.js';
import { broadcast, deliver, frameOf, publish } from './signed_track.js';

// A failing run prints its seed and path; put them here as `{ seed, path }` to replay it.
const runs = { numRuns: 400 };

// Two frames are alike, so that their places have to tell them apart.
const groups = [
  ['key', 'a', 'b', 'b', 'c', 'd'].map((text, index) => frameOf(text, index === 3 ? 80 : index * 40)),
  ['other', 'a', 'b', 'e'].map((text, index) => frameOf(text, index * 40)),
];
const published = await publish(groups);

/** One thing that an edge does to a list of frames. All of them take any numbers. */
type Act = (list: Frame[], place: number, value: number) => void;

const copyOf = ({ payload, timestamp }: Frame): Frame => ({ payload: payload.slice(), timestamp });
const all = [...published.media, ...published.statements].flat();
const acts: Act[] = [
  (list, place) => void list.splice(place % (list.length + 1), 1),
  (list, place, value) => void list.splice(place % (list.length + 1), 0, copyOf(all[value % all.length]!)),
  (list, place, value) => void list.splice(place % (list.length + 1), 0, frameOf(value, place)),
  (list, place, value) => {
    const [taken] = list.splice(place % (list.length + 1), 1);
    if (taken) list.splice(value % (list.length + 1), 0, taken);
  },
  (list, place, value) => {
    const frame = list[place % (list.length + 1)];
    if (frame && frame.payload.length > 0) frame.payload[value % frame.payload.length]! ^= 1 << (value % 8);
  },
  (list, place, value) => {
    const frame = list[place % (list.length + 1)];
    if (frame) frame.payload = frame.payload.subarray(0, value % (frame.payload.length + 1));
  },
  (list, place, value) => {
    const frame = list[place % (list.length + 1)];
    if (frame) frame.timestamp = new Time(value);
  },
  (list, place) => void list.splice(place % (list.length + 1)),
];

const act = fc.tuple(fc.nat(acts.length - 1), fc.nat(1_000), fc.nat(1_000));
const forgeries = fc.array(fc.tuple(fc.constantFrom('frames', 'statements'), fc.nat(1), act), { maxLength: 6 });

test('whatever an edge does, only what was signed passes, in its order, and every frame is counted', async () => {
  await fc.assert(
    fc.asyncProperty(forgeries, async (list) => {
      const delivered = groups.map((_, sequence) => ({
        sequence,
        frames: published.media[sequence]!.map(copyOf),
        statements: published.statements[sequence]!.map(copyOf),
      }));
      for (const [part, sequence, [kind, place, value]] of list) acts[kind]!(delivered[sequence]![part], place, value);
      const { events, counts, frames } = await deliver(delivered);
      const last = [-1, -1];
      for (const { group, index, timestamp, payload } of frames) {
        const genuine = groups[group]![index]!;
        expect([payload, timestamp]).toEqual([genuine.payload, genuine.timestamp.value]);
        expect(index).toBeGreaterThan(last[group]!);
        last[group] = index;
      }
      expect(counts.verified).toBe(frames.length);
      const came = delivered.reduce((total, { frames: { length } }) => total + length, 0);
      expect(counts.verified + counts.forged + counts.unsigned).toBe(came);
      for (const event of events) {
        if (event.kind === 'frame' || !event.complete) continue;
        expect(frames.filter(({ group }) => group === event.group)).toHaveLength(groups[event.group]!.length);
      }
    }),
    runs,
  );
});

test('a change of any bit of a statement is noticed', async () => {
  const [bytes] = published.statements[0]!.map(({ payload }) => payload);
  for (let bit = 0; bit < bytes!.length * 8; bit += 1) {
    const changed = bytes!.slice();
    changed[bit >> 3]! ^= 1 << (bit & 7);
    const { counts } = await deliver([{ sequence: 0, statements: [{ payload: changed, timestamp: new Time(0) }] }]);
    expect(counts).toMatchObject({ verified: 0, refusedStatements: 0 });
  }
});

test('hostile bytes are a statement or none, whoever signed them', async () => {
  const name = { broadcast, track: 'video', group: 0, timescale: 1_000 };
  const damaged = fc
    .tuple(
      fc.constantFrom(...published.statements.flat()),
      fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 4 }),
    )
    .map(([{ payload }, changes]) => {
      const bytes = payload.slice();
      for (const [place, byte] of changes) bytes[place % bytes.length] = byte;
      return bytes;
    });
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 300 }), damaged), async (bytes) => {
      const statement = await openStatement(() => Promise.resolve(true), name, bytes);
      if (statement === undefined) return;
      expect(statement.frames.length).toBeLessThan(64);
      expect(Number.isSafeInteger(statement.first + statement.frames.length)).toBe(true);
    }),
    { numRuns: 5_000 },
  );
});
