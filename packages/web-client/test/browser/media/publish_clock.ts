/** Runs in a page: publishes a drawn clock as a broadcast, by `@moq/net` and WebCodecs. */
import * as Moq from '@moq/net';
import { noteFrame, ownCertificate, type MediaPage, type PublishOptions } from './media_page.js';

const [width, height, framesPerSecond] = [320, 180, 25];
const [sampleRate, samplesPerChunk] = [48_000, 960];

/** Frames of a group: a second of either kind */
const groupFrames = { video: framesPerSecond, audio: sampleRate / samplesPerChunk };

const page = (window as unknown as { media: MediaPage }).media;

/** Draws the time with a bar that moves, and a block whose colour tells the number of the group. */
function draw(context: CanvasRenderingContext2D, frame: number): void {
  const group = Math.floor(frame / groupFrames.video);
  context.fillStyle = '#102030';
  context.fillRect(0, 0, width, height);
  context.fillStyle = `hsl(${(group * 47) % 360} 80% 50%)`;
  context.fillRect(0, 0, 60, 60);
  context.fillStyle = '#ffd166';
  context.fillRect(((frame % groupFrames.video) / groupFrames.video) * width, height - 20, 12, 20);
  context.font = '48px monospace';
  context.fillText((frame / framesPerSecond).toFixed(2), 90, 100);
}

/** Publishes `name` at `url` until the page closes. Resolves when the session is open. */
async function publish(url: string, name: string, { codec, sound }: PublishOptions): Promise<void> {
  const webtransport = await ownCertificate();
  const connection = await Moq.Connection.connect(new URL(url), { websocket: { enabled: false }, webtransport });
  const broadcast = new Moq.Broadcast.Producer();
  const container = { kind: 'legacy' };
  const picture = { codec, container, codedWidth: width, codedHeight: height, framerate: framesPerSecond };
  const tone = { codec: 'opus', container, sampleRate, numberOfChannels: 1 };
  broadcast.createTrack('catalog.json').writeJson({
    video: { renditions: { video: picture } },
    ...(sound && { audio: { renditions: { audio: tone } } }),
  });
  const microseconds = { timescale: Moq.Time.Timescale(1_000_000) };
  encodeClock(broadcast.createTrack('video', microseconds), codec);
  if (sound) encodeTone(broadcast.createTrack('audio', microseconds));
  connection.publish(Moq.Path.from(name), broadcast);
  void connection.closed.then(() => (page.closed = true));
}

/** Writes encoded frames to a track. Each frame for which `begins` is true begins a group. */
function writer(track: Moq.Track.Producer, begins: (chunk: EncodedVideoChunk | EncodedAudioChunk) => boolean) {
  let group: Moq.Group.Producer | undefined;
  let index = 0;
  return (chunk: EncodedVideoChunk | EncodedAudioChunk): void => {
    if (begins(chunk)) {
      group?.close();
      group = track.appendGroup();
      index = 0;
    }
    if (!group) return;
    const timestamp = Moq.Varint.encode(chunk.timestamp);
    const payload = new Uint8Array(timestamp.length + chunk.byteLength);
    payload.set(timestamp);
    chunk.copyTo(payload.subarray(timestamp.length));
    noteFrame(page, track.name, group.sequence, index, payload);
    index += 1;
    group.writeFrame({ payload, timestamp: Moq.Time.Timestamp.fromMicros(Moq.Time.Micro(chunk.timestamp)) });
  };
}

function encodeClock(track: Moq.Track.Producer, codec: string): void {
  const encoder = new VideoEncoder({
    error: (error) => (page.error = String(error)),
    output: writer(track, ({ type }) => type === 'key'),
  });
  encoder.configure({ codec, width, height, bitrate: 400_000, framerate: framesPerSecond, latencyMode: 'realtime' });
  const canvas = document.body.appendChild(document.createElement('canvas'));
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext('2d')!;
  let frame = 0;
  setInterval(() => {
    draw(context, frame);
    const image = new VideoFrame(canvas, { timestamp: Math.round((frame * 1_000_000) / framesPerSecond) });
    encoder.encode(image, { keyFrame: frame % groupFrames.video === 0 });
    image.close();
    frame += 1;
  }, 1_000 / framesPerSecond);
}

function encodeTone(track: Moq.Track.Producer): void {
  let chunks = 0;
  const encoder = new AudioEncoder({
    error: (error) => (page.error = String(error)),
    output: writer(track, () => chunks++ % groupFrames.audio === 0),
  });
  encoder.configure({ codec: 'opus', sampleRate, numberOfChannels: 1, bitrate: 32_000 });
  let samples = 0;
  setInterval(
    () => {
      const data = Float32Array.from({ length: samplesPerChunk }, (_, index) =>
        Math.sin(((samples + index) * 440 * 2 * Math.PI) / sampleRate),
      );
      const timestamp = Math.round((samples * 1_000_000) / sampleRate);
      const format = { format: 'f32', sampleRate, numberOfFrames: samplesPerChunk, numberOfChannels: 1 } as const;
      encoder.encode(new AudioData({ ...format, timestamp, data }));
      samples += samplesPerChunk;
    },
    (1_000 * samplesPerChunk) / sampleRate,
  );
}

page.publish = publish;
