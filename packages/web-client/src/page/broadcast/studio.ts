/** Entry of the page that publishes: a drawn clock, or a camera */
import { find, write } from '../elements.js';
import { fetchTree } from './demo_tree.js';
import { Publisher, type Published } from './publisher.js';
import { startCamera, startClock, type PictureSource } from './picture_source.js';
import { keepSession } from './session.js';

/** What programs that run this page may read */
export interface StudioState {
  published(): { frames: number; groups: [group: number, frames: number][] } | undefined;
}

let publisher: Publisher | undefined;
let source: PictureSource | undefined;
let before: Pick<Published, 'frames' | 'bytes'> = { frames: 0, bytes: 0 };

const preview = find<HTMLCanvasElement>('picture').getContext('2d')!;

function setState(state: 'open' | 'lost', text: string): void {
  find<HTMLElement>('state').dataset['state'] = state;
  write('state', text);
}

function take(picture: VideoFrame): void {
  preview.drawImage(picture, 0, 0, preview.canvas.width, preview.canvas.height);
  if (publisher) publisher.take(picture);
  else picture.close();
}

async function choose(kind: 'clock' | 'camera'): Promise<void> {
  try {
    const next = await (kind === 'clock' ? startClock : startCamera)(take);
    source?.stop();
    source = next;
    find<HTMLButtonElement>('clock').setAttribute('aria-pressed', String(kind === 'clock'));
    find<HTMLButtonElement>('camera').setAttribute('aria-pressed', String(kind === 'camera'));
    write('note', kind === 'clock' ? 'The clock shows the time of this machine.' : 'The camera of this machine.');
  } catch (error) {
    write('note', `There is no camera: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function showCounts(): void {
  const { frames, bytes, skipped, groups } = publisher?.published ?? { ...before, skipped: 0, groups: new Map() };
  write('frames', String(frames));
  write('frames-detail', `${groups.size} groups, ${skipped} pictures left out`);
  write('frame-rate', String(Math.max(0, frames - before.frames)));
  write('rate', ((Math.max(0, bytes - before.bytes) * 8) / 1e6).toFixed(2));
  before = { frames, bytes };
}

const state: StudioState = {
  published: () => publisher && { frames: publisher.published.frames, groups: [...publisher.published.groups] },
};
Object.assign(window, { studio: state });

find('clock').addEventListener('click', () => void choose('clock'));
find('camera').addEventListener('click', () => void choose('camera'));
setInterval(showCounts, 1_000);
await choose('clock');
const { watch } = (await fetchTree()) ?? {};
if (watch !== undefined) find<HTMLAnchorElement>('watch').href = watch;
await keepSession(
  (session) => {
    publisher?.close();
    before = { frames: 0, bytes: 0 };
    publisher = new Publisher(session, (error) => setState('lost', `The encoder failed: ${error.message}`));
    setState('open', 'On the air');
  },
  () => setState('lost', 'The gateway is not there'),
);
