import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCatalog, type Rendition } from '../../../src/media/hls/catalog.js';
import { initSegment } from '../../../src/media/hls/init_segment.js';
import { mediaPlaylist, multivariantPlaylist } from '../../../src/media/hls/playlists.js';
import { cut, partBytes, PART_TARGET, segmentsOf } from '../../../src/media/hls/timeline.js';
import { varint } from '../../../src/media/moq/fields.js';
import { GroupCache } from '../../../src/media/model/group_cache.js';
import { MemoryBudget } from '../../../src/media/model/memory_budget.js';
import { Track } from '../../../src/media/model/track.js';
import { ManualClock } from '../../support/manual_clock.js';

const video: Rendition = { codec: 'vp09.00.10.08', container: { kind: 'legacy' }, codedWidth: 320, codedHeight: 180 };

function openTrack(): Track {
  const track = new Track(
    'video',
    new GroupCache({ history: 100_000, bytes: 1_000_000 }, new ManualClock(), new MemoryBudget(Infinity).shareOf('')),
  );
  track.accept({ priority: 0, ordered: false, cache: 0, timescale: 1_000 });
  return track;
}

/** Adds a group of 25 frames of 40 ms in the container `legacy`. */
function addSecond(track: Track, sequence: number, frames = 25): void {
  const group = track.begin(sequence);
  for (let index = 0; index < frames; index += 1) {
    const time = (sequence * 25 + index) * 40_000;
    track.write(group, time / 1_000, Buffer.concat([varint(time), Buffer.from(`frame ${index}`)]));
  }
  if (frames === 25) track.finish(group);
}

describe('the parts of a group', () => {
  it('hold whole frames of up to a quarter of a second, and all of them together every frame once', () => {
    const times = fc.array(fc.integer({ min: 1, max: 400_000 }), { minLength: 1, maxLength: 60 }).map((durations) => {
      let time = 0;
      return [0, ...durations.map((duration) => (time += duration))];
    });
    fc.assert(
      fc.property(times, (list) => {
        const parts = cut(list, true);
        expect(parts.map(({ first }) => first)).toEqual([0, ...parts.slice(0, -1).map(({ end }) => end)]);
        expect(parts.at(-1)?.end).toBe(list.length - 1);
        for (const { first, end, duration } of parts) {
          expect(duration).toBe(list[end]! - list[first]!);
          if (end - first > 1) expect(duration).toBeLessThanOrEqual(PART_TARGET);
        }
        // A group that grows has the same parts from the beginning, except for the last one at most.
        for (let length = 1; length <= list.length; length += 1) {
          const growing = cut(list.slice(0, length), false);
          expect(growing).toEqual(parts.slice(0, growing.length));
        }
        expect(cut(list, false).length).toBeGreaterThanOrEqual(parts.length - 1);
      }),
    );
  });

  it('of hostile times have no negative and no endless duration', () => {
    const parts = cut([5_000_000, 0, 2 ** 52 - 1, 7], true);
    expect(parts.every(({ duration }) => duration >= 0 && duration <= 120_000_000)).toBe(true);
  });
});

describe('the segments of a track', () => {
  it('are its groups; the newest one grows', () => {
    const track = openTrack();
    addSecond(track, 4);
    addSecond(track, 5, 10);
    const [first, second] = segmentsOf(track, video);
    expect(first).toMatchObject({ sequence: 4, complete: true, duration: 1_000_000 });
    expect(first?.parts.map(({ end }) => end)).toEqual([6, 12, 18, 24, 25]);
    expect(second).toMatchObject({ sequence: 5, complete: false, duration: 240_000 });
  });

  it('have gaps where groups are missing, and begin anew after a large gap', () => {
    const track = openTrack();
    for (const sequence of [4, 6]) addSecond(track, sequence);
    expect(segmentsOf(track, video).map(({ group }) => group?.sequence)).toEqual([4, undefined, 6]);
    addSecond(track, 2_000);
    expect(segmentsOf(track, video).map(({ sequence }) => sequence)).toEqual([2_000]);
  });

  it('become a playlist with parts and a hint', () => {
    const track = openTrack();
    for (const sequence of [1, 2, 3, 4]) addSecond(track, sequence);
    addSecond(track, 5, 14);
    const lines = mediaPlaylist(segmentsOf(track, video), { video: true, token: 'a1', isStale: false }).split('\n');
    expect(lines.slice(0, 7)).toEqual([
      '#EXTM3U',
      '#EXT-X-VERSION:9',
      '#EXT-X-TARGETDURATION:1',
      '#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=0.75000,HOLD-BACK=3',
      '#EXT-X-PART-INF:PART-TARGET=0.25000',
      '#EXT-X-MEDIA-SEQUENCE:1',
      '#EXT-X-MAP:URI="init.mp4?broadcast=a1"',
    ]);
    expect(lines.slice(-4)).toEqual([
      '#EXT-X-PART:DURATION=0.24000,URI="5.0.m4s?broadcast=a1",INDEPENDENT=YES',
      '#EXT-X-PART:DURATION=0.24000,URI="5.1.m4s?broadcast=a1"',
      '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="5.2.m4s?broadcast=a1"',
      '',
    ]);
    expect(lines.filter((line) => /^\d+\.m4s/.test(line))).toEqual(
      [1, 2, 3, 4].map((group) => `${group}.m4s?broadcast=a1`),
    );
  });

  it('become fragments: the frames without their times, with durations and places to begin', () => {
    const track = openTrack();
    for (const sequence of [0, 1]) addSecond(track, sequence);
    const [first] = segmentsOf(track, video);
    const bytes = partBytes(first!, first!.parts[0]!, video);
    expect(bytes.subarray(bytes.indexOf('mdat') + 4).toString()).toBe('frame 0frame 1frame 2frame 3frame 4frame 5');
    const run = bytes.indexOf('trun');
    expect(bytes.readUInt32BE(run + 8)).toBe(6);
    // The data begins where the run says, counted from the beginning of the fragment.
    expect(bytes.readUInt32BE(run + 12)).toBe(bytes.indexOf('frame 0'));
    expect([bytes.readUInt32BE(run + 16), bytes.readUInt32BE(run + 20)]).toEqual([40_000, 7]);
    const late = partBytes(first!, first!.parts[1]!, video);
    expect(late.readBigUInt64BE(late.indexOf('tfdt') + 8)).toBe(240_000n);
  });
});

describe('the catalogue', () => {
  const catalog = {
    video: {
      renditions: {
        hd: { codec: 'vp09.00.10.08', codedWidth: 320, codedHeight: 180, bitrate: 400_000 },
        'old one': { codec: 'avc1.42e01f', container: { kind: 'legacy' } },
        odd: { codec: 7 },
        later: { codec: 'av01.0.04M.08', container: { kind: 'loc' } },
      },
    },
    audio: {
      renditions: { sound: { codec: 'opus', sampleRate: 48_000, numberOfChannels: 2, container: { kind: 'legacy' } } },
    },
    chat: { anything: true },
  };

  it('becomes a playlist of the renditions that players of files can read', () => {
    expect(multivariantPlaylist(parseCatalog(Buffer.from(JSON.stringify(catalog)))!, 'a1')).toBe(
      [
        '#EXTM3U',
        '#EXT-X-VERSION:9',
        '#EXT-X-INDEPENDENT-SEGMENTS',
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="1",DEFAULT=YES,AUTOSELECT=YES,URI="sound/media.m3u8?broadcast=a1"',
        '#EXT-X-STREAM-INF:BANDWIDTH=400000,CODECS="vp09.00.10.08,opus",RESOLUTION=320x180,AUDIO="audio"',
        'hd/media.m3u8?broadcast=a1',
        '',
      ].join('\n'),
    );
  });

  it('that is hostile is malformed, or has nothing that can be played', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        const parsed = parseCatalog(Buffer.from(text));
        if (parsed) multivariantPlaylist(parsed, 'a1');
      }),
    );
    const name = 'a"\n#EXT-X-KEY:METHOD=NONE';
    const renditions = { [name]: { codec: 'vp09.00.10.08' }, b: { codec: 'vp09.00.10.08"\nx' } };
    const playlist = multivariantPlaylist(parseCatalog(Buffer.from(JSON.stringify({ video: { renditions } })))!, 'a1');
    expect(playlist).not.toContain('\n#EXT-X-KEY');
    expect(playlist).toContain('a%22%0A%23EXT-X-KEY%3AMETHOD%3DNONE/media.m3u8');
  });

  it.each([
    ['vp09.00.10.08', '76706343' + '01000000' + '000a82' + '010101' + '0000'],
    ['vp09.02.41.10.01.09.16.09.01', '76706343' + '01000000' + '0229a3' + '091009' + '0000'],
    ['av01.0.04M.08', '61763143' + '81040c00'],
    ['av01.1.13H.10', '61763143' + '812dcc00'],
  ])('of %s becomes a configuration with these bytes', (codec, expected) => {
    const init = initSegment({ ...video, codec })!;
    expect(init.toString('hex')).toContain(expected);
  });

  it.each(['vp8', 'vp09', 'vp09.00.10', 'vp09.00.10.999', 'av01.9.04M.08', 'av01.0.4.08', 'hvc1.1.6.L93'])(
    'of %s has no file',
    (codec) => {
      expect(initSegment({ ...video, codec })).toBeUndefined();
    },
  );
});
