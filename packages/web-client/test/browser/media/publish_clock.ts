/** Runs in a page: publishes a drawn clock as a broadcast, by `@moq/net` and WebCodecs. */
import * as Moq from '@moq/net';
import {
  createSigner,
  formatPublicKey,
  signatureTrack,
  TrackSigner,
  type Signer,
} from '@sheaf/web-client/signed-media';
import { noteFrame, ownCertificate, type MediaPage, type PublishOptions } from './media_page.js';

const [width, height, framesPerSecond] = [320, 180, 25];
const [sampleRate, samplesPerChunk] = [48_000, 960];

/** Chunks of sound in a group, which lasts for a second */
const chunksPerGroup = sampleRate / samplesPerChunk;

const page = (window as unknown as { media: MediaPage }).media;

/** Draws the time with a bar that moves, and a block whose colour tells the number of the group. */
function draw(context: CanvasRenderingContext2D, frame: number): void {
  const group = Math.floor(frame / framesPerSecond);
  context.fillStyle = '#102030';
  context.fillRect(0, 0, width, height);
  context.fillStyle = `hsl(${(group * 47) % 360} 80% 50%)`;
  context.fillRect(0, 0, 60, 60);
  context.fillStyle = '#ffd166';
  context.fillRect(((frame % framesPerSecond) / framesPerSecond) * width, height - 20, 12, 20);
  context.font = '48px monospace';
  context.fillText((frame / framesPerSecond).toFixed(2), 90, 100);
}

/** Publishes `name` at `url` until the page closes, and signs all tracks. Resolves when the session is open. */
async function publish(url: string, name: string, options: PublishOptions): Promise<void> {
  const { codec, sound, groupFrames = framesPerSecond } = options;
  const webtransport = await ownCertificate(page);
  const connection = await Moq.Connection.connect(new URL(url), { websocket: { enabled: false }, webtransport });
  const broadcast = new Moq.Broadcast.Producer();
  const signer = await createSigner(crypto.getRandomValues(new Uint8Array(32)));
  page.publicKey = formatPublicKey(signer.publicKey);
  const container = { kind: 'legacy' };
  const picture = { codec, container, codedWidth: width, codedHeight: height, framerate: framesPerSecond };
  const tone = { codec: 'opus', container, sampleRate, numberOfChannels: 1 };
  const createTrack = trackMaker(broadcast, name, signer);
  writeCatalog(createTrack('catalog.json', {}), {
    video: { renditions: { video: picture } },
    ...(sound && { audio: { renditions: { audio: tone } } }),
    signed: ['catalog.json', 'video', 'audio'],
  });
  const microseconds = { timescale: Moq.Time.Timescale(1_000_000) };
  encodeClock(createTrack('video', microseconds), codec, groupFrames);
  if (sound) encodeTone(createTrack('audio', microseconds));
  connection.publish(Moq.Path.from(name), broadcast);
  void connection.closed.then(() => (page.closed = true));
}

type SignedTrack = TrackSigner<Moq.Time.Timestamp>;

/** Returns a function that makes tracks, each with one for its signatures beside it. */
function trackMaker(broadcast: Moq.Broadcast.Producer, name: string, signer: Signer) {
  const run = Date.now();
  return (track: string, info: Partial<Moq.Track.Info>): SignedTrack => {
    const [media, signatures] = [
      broadcast.createTrack(track, info),
      broadcast.createTrack(signatureTrack(track), info),
    ];
    return new TrackSigner({ signer, broadcast: name, run, media, signatures });
  };
}

/** Writes the catalogue. Its group stays open: `@moq/net` forgets closed ones after some seconds. */
function writeCatalog(track: SignedTrack, catalog: object): void {
  const payload = new TextEncoder().encode(JSON.stringify(catalog));
  track.appendGroup().writeFrame({ payload, timestamp: Moq.Time.Timestamp.now() });
}

/** Writes encoded frames to a track. Each frame for which `begins` is true begins a group. */
function writer(track: SignedTrack, begins: (chunk: EncodedVideoChunk | EncodedAudioChunk) => boolean) {
  let group: ReturnType<SignedTrack['appendGroup']> | undefined;
  let index = 0;
  return (chunk: EncodedVideoChunk | EncodedAudioChunk): void => {
    if (begins(chunk)) {
      void group?.close();
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

function encodeClock(track: SignedTrack, codec: string, groupFrames: number): void {
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
    encoder.encode(image, { keyFrame: frame % groupFrames === 0 });
    image.close();
    frame += 1;
  }, 1_000 / framesPerSecond);
}

function encodeTone(track: SignedTrack): void {
  let chunks = 0;
  const encoder = new AudioEncoder({
    error: (error) => (page.error = String(error)),
    output: writer(track, () => chunks++ % chunksPerGroup === 0),
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
