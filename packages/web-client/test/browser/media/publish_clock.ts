/** Runs in a page: publishes a drawn clock as a broadcast, by `@moq/net` and WebCodecs. */
import * as Moq from '@moq/net';
import { noteFrame, ownCertificate, type MediaPage } from './media_page.js';

const codec = 'vp09.00.10.08';
const [width, height, framesPerSecond, framesPerGroup] = [320, 180, 25, 25];

const page = (window as unknown as { media: MediaPage }).media;

/** Draws the time with a bar that moves, and a block whose colour tells the number of the group. */
function draw(context: CanvasRenderingContext2D, frame: number): void {
  const group = Math.floor(frame / framesPerGroup);
  context.fillStyle = '#102030';
  context.fillRect(0, 0, width, height);
  context.fillStyle = `hsl(${(group * 47) % 360} 80% 50%)`;
  context.fillRect(0, 0, 60, 60);
  context.fillStyle = '#ffd166';
  context.fillRect(((frame % framesPerGroup) / framesPerGroup) * width, height - 20, 12, 20);
  context.font = '48px monospace';
  context.fillText((frame / framesPerSecond).toFixed(2), 90, 100);
}

/** Publishes `name` at `url` until the page closes. Resolves when the session is open. */
async function publish(url: string, name: string): Promise<void> {
  const webtransport = await ownCertificate();
  const connection = await Moq.Connection.connect(new URL(url), { websocket: { enabled: false }, webtransport });
  page.version = connection.version;
  const broadcast = new Moq.Broadcast.Producer();
  const catalog = broadcast.createTrack('catalog.json');
  const video = broadcast.createTrack('video', { timescale: Moq.Time.Timescale(1_000_000) });
  catalog.writeJson({
    video: {
      renditions: {
        video: {
          codec,
          container: { kind: 'legacy' },
          codedWidth: width,
          codedHeight: height,
          framerate: framesPerSecond,
        },
      },
    },
  });
  connection.publish(Moq.Path.from(name), broadcast);
  void connection.closed.then(() => (page.closed = true));
  encode(video);
}

function encode(track: Moq.Track.Producer): void {
  let group: Moq.Group.Producer | undefined;
  let index = 0;
  const encoder = new VideoEncoder({
    error: (error) => (page.error = String(error)),
    output: (chunk) => {
      if (chunk.type === 'key') {
        group?.close();
        group = track.appendGroup();
        index = 0;
      }
      if (!group) return;
      const timestamp = Moq.Varint.encode(chunk.timestamp);
      const payload = new Uint8Array(timestamp.length + chunk.byteLength);
      payload.set(timestamp);
      chunk.copyTo(payload.subarray(timestamp.length));
      noteFrame(page, group.sequence, index, payload);
      index += 1;
      group.writeFrame({ payload, timestamp: Moq.Time.Timestamp.fromMicros(Moq.Time.Micro(chunk.timestamp)) });
    },
  });
  encoder.configure({ codec, width, height, bitrate: 400_000, framerate: framesPerSecond, latencyMode: 'realtime' });
  const canvas = document.body.appendChild(document.createElement('canvas'));
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext('2d')!;
  let frame = 0;
  setInterval(() => {
    draw(context, frame);
    const image = new VideoFrame(canvas, { timestamp: Math.round((frame * 1_000_000) / framesPerSecond) });
    encoder.encode(image, { keyFrame: frame % framesPerGroup === 0 });
    image.close();
    frame += 1;
  }, 1_000 / framesPerSecond);
}

page.publish = publish;
