/** Entry of the page that watches: shows the broadcast, what brought it, and cuts the tree */
import { find, write } from '../elements.js';
import { EventList } from '../event_list.js';
import { formatNumber, median } from '../live/format.js';
import { changeTree, fetchTree, type DemoTree } from './demo_tree.js';
import { DELAY_MS, Playout } from './playout.js';
import { Reception } from './reception.js';
import { keepSession, timeOfDay } from './session.js';
import { follow } from './subscriber.js';
import { ArrivalsChart, WaysChart, type Arrival } from './tree_charts.js';
import { drawTree } from './tree_drawing.js';
import { TreeHistory } from './tree_history.js';

/** What programs that run this page may read */
export interface WatchState {
  frames(): { shown: number; received: number; lost: number; late: number; groups: [group: number, frames: number][] };
  /** The edge's counts, as the page knows them */
  edge(): DemoTree['edge'];
  /** Milliseconds from the publisher to this page, of each frame of the last minute */
  arrivals(): number[];
}

const POLL_MS = 250;
const KEPT_MS = 60_000;
/** Milliseconds of which the figures tell */
const RECENT_MS = 2_000;
const SHARE_MS = 5_000;
const LOSS_MS = 20_000;

const events = new EventList(find('happenings'));
const reception = new Reception();
const playout = new Playout(find<HTMLCanvasElement>('picture'));
const history = new TreeHistory();
const ways = new WaysChart(find('ways'));
const latencies = new ArrivalsChart(find('arrivals'), DELAY_MS);
const treeSwitch = find<HTMLButtonElement>('switch');
let arrivals: Arrival[] = [];
let latest: DemoTree | undefined;
let plays = false;

function setState(state: 'open' | 'waiting' | 'lost', text: string): void {
  find<HTMLElement>('state').dataset['state'] = state;
  write('state', text);
}

const edgeStates: Record<string, string> = {
  receiving: 'The edge hears the group: each packet leaves the gateway once, for all edges.',
  unicast: 'The group is silent. The edge gets copies over its connection to the gateway.',
  joined: 'The edge has joined the group and waits for its first packet.',
  want: 'The edge gets copies over its connection to the gateway.',
  waiting: 'The edge is not in the channel. It joins again after a pause.',
};
const marks: Record<string, string> = { receiving: 'path-1', unicast: 'path-2' };

/** Tells what changed since the report before. */
function tellChanges(before: DemoTree | undefined, now: DemoTree): void {
  if (before && now.tree.cut !== before.tree.cut)
    events.tell(now.tree.cut ? 'The tree is cut. Nobody tells the gateway or the edge.' : 'The tree is mended.', 'cut');
  const state = now.edge?.state ?? 'waiting';
  if (state !== (before && (before.edge?.state ?? 'waiting'))) events.tell(edgeStates[state] ?? state, marks[state]);
}

async function pollTree(): Promise<void> {
  for (;;) {
    const report = await fetchTree();
    if (report) {
      tellChanges(latest, report);
      latest = report;
      history.add(report, performance.now());
      treeSwitch.disabled = false;
      treeSwitch.setAttribute('aria-checked', String(!report.tree.cut));
      find<HTMLAnchorElement>('studio').href = report.studio;
      write('loss', `${Number((100 * report.tree.loss).toPrecision(3))} %`);
      drawTree(report, history.rates().at(-1));
    }
    show();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function show(): void {
  const now = performance.now();
  arrivals = arrivals.filter(({ at }) => now - at < KEPT_MS);
  showFrames(now);
  showPackets();
  ways.draw(history.rates(), history.cuts(), now);
  latencies.draw(arrivals, history.cuts(), now);
}

function showFrames(now: number): void {
  const recent = arrivals.filter(({ at }) => now - at < RECENT_MS).map(({ milliseconds }) => milliseconds);
  write('latency', formatNumber(median(recent)));
  write('latency-detail', `shown ${DELAY_MS} ms after it was taken`);
  write('shown', String(playout.shown));
  write('shown-detail', playout.late === 0 ? 'each of them in time' : `${playout.late} later than planned`);
  write('lost', String(reception.lost));
  find('lost').classList.toggle('bad', reception.lost > 0);
}

function showPackets(): void {
  const [lately, ever] = [history.since(LOSS_MS), history.since()];
  const { group, repairs, all } = history.since(SHARE_MS);
  const percent = (part: number, whole: number): string => (whole === 0 ? '–' : ((100 * part) / whole).toFixed(1));
  write('missing', percent(lately.lost, lately.all + lately.expired));
  write('missing-detail', `before repair; ${percent(lately.expired, lately.all + lately.expired)} % after it`);
  write('repairs', String(ever.repairs));
  write('repairs-detail', 'packets, by repairs for all edges');
  write('share', percent(group + repairs, all));
  write('share-detail', `${percent(ever.group + ever.repairs, ever.all)} % since this page began`);
}

async function toggleTree(): Promise<void> {
  treeSwitch.disabled = true;
  try {
    await changeTree(latest?.tree.cut ? 'mend' : 'cut');
  } catch (error) {
    events.tell(`The demo did not do that: ${error instanceof Error ? error.message : String(error)}`);
    treeSwitch.disabled = false;
  }
}

function setOnline(isOnline: boolean): void {
  plays = isOnline;
  find<HTMLElement>('waiting').hidden = isOnline;
  events.tell(isOnline ? 'The studio is on the air.' : 'The studio is off the air.');
  if (isOnline) setState('open', 'Live, through the edge');
  else setState('waiting', 'Nobody publishes');
}

const state: WatchState = {
  frames: () => ({
    ...{ shown: playout.shown, late: playout.late },
    ...{ received: reception.received, lost: reception.lost, groups: [...reception.groups] },
  }),
  edge: () => latest?.edge,
  arrivals: () => arrivals.map(({ milliseconds }) => milliseconds),
};
Object.assign(window, { watching: state });

treeSwitch.addEventListener('click', () => void toggleTree());
void pollTree();
await keepSession(
  (session) => {
    setState('waiting', 'Nobody publishes');
    void follow(session, {
      online() {
        reception.restart();
        playout.restart((error) => events.tell(`The decoder failed: ${error.message}`));
        setOnline(true);
      },
      described: (rendition) => playout.describe(rendition),
      picture(picture) {
        reception.add();
        const milliseconds = timeOfDay() - picture.timestamp / 1_000;
        arrivals.push({ at: performance.now(), milliseconds });
        playout.decode(picture);
      },
      groupEnd: (...end) => reception.groupEnd(...end),
      offline: () => setOnline(false),
    });
  },
  () => {
    if (plays) setOnline(false);
    setState('lost', 'The edge is not there');
  },
);
