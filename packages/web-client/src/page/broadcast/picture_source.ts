import { drawClock, HEIGHT, WIDTH } from './drawn_clock.js';
import { timeOfDay } from './session.js';

export const FRAMES_PER_SECOND = 25;

/** Calls `take` with each picture, whose timestamp is the time of day in microseconds, until it is stopped. `take` closes it. */
export interface PictureSource {
  stop(): void;
}

type Take = (picture: VideoFrame) => void;

const now = (): number => Math.round(timeOfDay() * 1_000);

/** Draws a clock for each picture. */
export async function startClock(take: Take): Promise<PictureSource> {
  await document.fonts.load("600 58px 'Martian Mono'").catch(() => undefined);
  const canvas = new OffscreenCanvas(WIDTH, HEIGHT);
  const context = canvas.getContext('2d', { alpha: false })!;
  const ticker = new Worker(`/scripts/ticker.js?interval=${1_000 / FRAMES_PER_SECOND}`);
  let frame = 0;
  ticker.onmessage = () => {
    const timestamp = now();
    drawClock(context, timestamp / 1_000, frame);
    frame += 1;
    take(new VideoFrame(canvas, { timestamp }));
  };
  return { stop: () => ticker.terminate() };
}

/** A stream of the pictures of a track (https://www.w3.org/TR/mediacapture-transform/), which Chromium has */
declare class MediaStreamTrackProcessor {
  constructor(init: { track: MediaStreamTrack });
  readonly readable: ReadableStream<VideoFrame>;
}

/** Takes pictures from a camera, once the visitor permits it. Rejects when there is none. */
export async function startCamera(take: Take): Promise<PictureSource> {
  const wanted = { width: WIDTH, height: HEIGHT, frameRate: FRAMES_PER_SECOND };
  const stream = await navigator.mediaDevices.getUserMedia({ video: wanted });
  const [track] = stream.getVideoTracks();
  if (!track) throw new Error('the camera has no picture');
  const reader = new MediaStreamTrackProcessor({ track }).readable.getReader();
  const read = async (): Promise<void> => {
    for (;;) {
      const { value } = await reader.read();
      if (!value) return;
      take(new VideoFrame(value, { timestamp: now() }));
      value.close();
    }
  };
  void read();
  return { stop: () => track.stop() };
}
