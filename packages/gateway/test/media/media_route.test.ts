import * as Moq from '@moq/net';
import { describe, expect, it } from 'vitest';
import { get } from '../support/client.js';
import { startFullGateway } from '../support/gateway.js';
import { announcement, connectMoq, publish } from '../support/moq_client.js';

const rendition = { codec: 'vp09.00.10.08', container: { kind: 'legacy' }, codedWidth: 320, codedHeight: 180 };
const framesPerGroup = 10;

/** A gateway with a broadcast `studio/clock`, whose video has groups of ten frames of 100 ms. */
async function startClock() {
  const { port, gateway } = await startFullGateway('routes: [{ path: /live, media: {} }]');
  const connection = await connectMoq(port);
  const { broadcast, video } = publish(connection, 'studio/clock');
  const catalog = broadcast.createTrack('catalog.json');
  catalog.writeJson({ video: { renditions: { video: rendition } } });
  void rejectOthers(broadcast);
  await announcement((await connectMoq(port)).announced(), 'studio/clock');
  return { port, gateway, broadcast, ...clockOf(video) };
}

/** Tells who asks for any other track that there is none. */
async function rejectOthers(broadcast: Moq.Broadcast.Producer): Promise<void> {
  for (;;) {
    const request = await broadcast.requested();
    if (request === undefined) return;
    request.reject(new Error('there is no such track'));
  }
}

/** Adds frames to groups as a clock does. */
function clockOf(track: Moq.Track.Producer) {
  let frame = 0;
  let group: Moq.Group.Producer | undefined;
  return {
    finish: () => group?.close(),
    tick(frames: number): void {
      for (let count = 0; count < frames; count += 1) {
        if (frame % framesPerGroup === 0) {
          group?.close();
          group = track.appendGroup();
        }
        const time = frame * 100_000;
        const payload = Buffer.concat([Moq.Varint.encode(time), Buffer.from(`[frame ${frame}]`)]);
        group!.writeFrame({ payload, timestamp: Moq.Time.Timestamp.fromMicros(Moq.Time.Micro(time)) });
        frame += 1;
      }
    },
  };
}

const base = '/live/studio/clock';

describe('a broadcast as LL-HLS', () => {
  it('has a playlist of its renditions, and one for each of them, with parts', async () => {
    const { port, tick } = await startClock();
    const index = await get(port, `${base}/index.m3u8`);
    expect([index.status, index.headers['content-type']]).toEqual([200, 'application/vnd.apple.mpegurl']);
    expect(index.body.toString()).toContain('video/media.m3u8');
    // The first request opens the track, and waits for its first part.
    const first = get(port, `${base}/video/media.m3u8`);
    const init = await get(port, `${base}/video/init.mp4`);
    expect([init.headers['content-type'], init.body.subarray(4, 8).toString()]).toEqual(['video/mp4', 'ftyp']);
    tick(4);
    expect((await first).body.toString()).toMatch(
      /#EXT-X-PART:DURATION=0.20000,URI="0.0.m4s\?broadcast=[0-9a-f]{12}",INDEPENDENT=YES/,
    );
    const part = await get(port, `${base}/video/0.0.m4s`);
    expect(part.body.toString('latin1')).toContain('[frame 0][frame 1]');
    expect(part.body.toString('latin1')).not.toContain('[frame 2]');
  });

  it('answers when the part or segment that a player waits for has come', async () => {
    const { port, tick } = await startClock();
    tick(4);
    await get(port, `${base}/video/media.m3u8`);
    const order: string[] = [];
    const note = (what: string) => (answer: { body: Buffer; status: number }) => {
      order.push(`${what} ${answer.status}`);
      return answer.body.toString('latin1');
    };
    const hinted = get(port, `${base}/video/0.2.m4s`).then(note('part'));
    const reload = get(port, `${base}/video/media.m3u8?_HLS_msn=0&_HLS_part=3`).then(note('reload'));
    const segment = get(port, `${base}/video/0.m4s`).then(note('segment'));
    tick(3);
    expect(await hinted).toContain('[frame 4][frame 5]');
    tick(2);
    expect(await reload).toContain('URI="0.3.m4s?');
    tick(2);
    expect(await segment).toMatch(/\[frame 0\].*\[frame 9\]/su);
    expect(order).toEqual(['part 200', 'reload 200', 'segment 200']);
  });

  it('has other URLs when its publisher comes back, and players of the one before get what there is', async () => {
    const { port, tick } = await startClock();
    tick(4);
    const playlistOf = async (): Promise<string> => {
      const index = (await get(port, `${base}/index.m3u8`)).body.toString();
      return `${base}/${/^video.*$/mu.exec(index)![0]}`;
    };
    const before = await playlistOf();
    await get(port, before);
    const file = before.replace('media.m3u8', '0.0.m4s');
    expect((await get(port, file)).headers['cache-control']).toBe('max-age=60');
    expect((await get(port, `${base}/video/0.0.m4s`)).headers['cache-control']).toBe('no-cache');
    const announced = (await connectMoq(port)).announced();
    await announcement(announced, 'studio/clock');
    const { broadcast, video } = publish(await connectMoq(port), 'studio/clock');
    broadcast.createTrack('catalog.json').writeJson({ video: { renditions: { video: rendition } } });
    await announcement(announced, 'studio/clock');
    const after = await playlistOf();
    expect(after).not.toBe(before);
    clockOf(video).tick(4);
    expect((await get(port, after)).body.toString()).not.toContain('#EXT-X-DISCONTINUITY');
    expect((await get(port, `${after}&_HLS_msn=9`)).status).toBe(400);
    const stale = await get(port, `${before}&_HLS_msn=9`);
    expect([stale.status, stale.body.toString().includes('#EXT-X-DISCONTINUITY\n')]).toEqual([200, true]);
    expect((await get(port, file)).status).toBe(404);
  });

  it('refuses what is far ahead, and what is not there', async () => {
    const { port, tick } = await startClock();
    tick(12);
    await get(port, `${base}/video/media.m3u8?_HLS_msn=0`);
    const statuses = await Promise.all(
      [
        `${base}/video/media.m3u8?_HLS_msn=9`,
        `${base}/video/9.m4s`,
        `${base}/video/0.77.m4s`,
        `${base}/other/media.m3u8`,
        `${base}/other/newest`,
        `${base}/video/name`,
        '/live/nobody/index.m3u8',
        '/live/%ff/index.m3u8',
        '/live/index.m3u8',
      ].map(async (path) => (await get(port, path)).status),
    );
    expect(statuses).toEqual([400, 404, 404, 404, 404, 404, 404, 404, 404]);
    expect((await get(port, `${base}/index.m3u8`, { method: 'POST' })).status).toBe(405);
  });
});

describe('a broadcast as files', () => {
  it('lists broadcasts, and has each group as a file', async () => {
    const { port, tick, finish } = await startClock();
    expect(JSON.parse((await get(port, '/live')).body.toString())).toEqual({ broadcasts: ['studio/clock'] });
    const catalog = await get(port, `${base}/catalog.json/newest`);
    expect(catalog.headers['content-type']).toBe('application/json');
    expect(JSON.parse(catalog.body.toString())).toEqual({ video: { renditions: { video: rendition } } });
    // A group that is not complete is sent as it grows.
    const growing = get(port, `${base}/video/newest`);
    tick(framesPerGroup);
    finish();
    const { body, headers } = await growing;
    expect(headers['sheaf-group']).toBe('0');
    expect(body.toString('latin1').match(/\[frame \d+\]/gu)).toHaveLength(framesPerGroup);
    expect((await get(port, `${base}/video/0`)).body).toEqual(body);
  });
});

describe('a page of another origin', () => {
  it.each([
    ['{}', undefined],
    ['{ origins: "*" }', 'https://player.example'],
    ['{ origins: "https://player.example" }', 'https://player.example'],
    ['{ origins: "https://other.example" }', undefined],
  ])('reads responses of %s only when it is named', async (options, expected) => {
    const { port } = await startFullGateway(`routes: [{ path: /live, media: ${options} }]`);
    const { headers } = await get(port, '/live', { headers: { origin: 'https://player.example' } });
    expect(headers['access-control-allow-origin']).toBe(expected);
    expect(headers['access-control-expose-headers']).toBe(expected && 'sheaf-group');
    // Caches keep the responses to pages apart, also from those to other clients.
    const vary = options === '{}' ? undefined : 'origin';
    expect([headers.vary, (await get(port, '/live')).headers.vary]).toEqual([vary, vary]);
  });
});
