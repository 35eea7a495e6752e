/** Entry of the live page, which measures and draws a session with the echo application */
import { find, write } from '../elements.js';
import { RoundTripChart, ThroughputChart } from './charts.js';
import { EchoSession } from './echo_session.js';
import { formatNumber, median } from './format.js';
import { ThroughputHistory } from './history.js';
import { showLoads } from './loads.js';
import { showPaths } from './paths.js';
import { Probe } from './probe.js';
import { SheafDrawing } from './sheaf_drawing.js';
import { Traffic } from './traffic.js';

const BURST_BYTES = 16 * 1024 * 1024;

const counts = { open: 0, finished: 0, failed: 0 };
const history = new ThroughputHistory(performance.now());
const drawing = new SheafDrawing(find('sheaf'));
let peak = 0;

const session = new EchoSession({
  opening: () => setState('opening', 'Opening a session…'),
  opened: (authority, milliseconds) => {
    write('gateway-name', `Gateway ${authority}`);
    setState('open', `Session open, ready after ${formatNumber(milliseconds)} ms`);
  },
  lost: (reason, retryInMs) =>
    setState('lost', `No session (${reason}). Next attempt in ${formatNumber(retryInMs / 1_000)} s`),
  datagram: (bytes) => probe.receive(bytes),
});

const probe = new Probe((bytes) => {
  session.sendDatagram(bytes);
  drawing.datagram();
});

const traffic = new Traffic(() => session.openStream(), {
  opened: (slot) => {
    counts.open += 1;
    drawing.opened(slot);
  },
  sent: (slot, bytes) => {
    history.add('sent', bytes, performance.now());
    drawing.moved(slot, 'sent', bytes);
  },
  returned: (slot, bytes) => {
    history.add('returned', bytes, performance.now());
    drawing.moved(slot, 'returned', bytes);
  },
  ended: (slot, ok) => {
    counts.open = Math.max(0, counts.open - 1);
    counts[ok ? 'finished' : 'failed'] += 1;
    drawing.ended(slot);
  },
});

function setState(state: 'opening' | 'open' | 'lost', text: string): void {
  const element = find<HTMLElement>('state');
  element.dataset['state'] = state;
  element.textContent = text;
}

function offerControls(): void {
  const parallel = find<HTMLInputElement>('parallel');
  parallel.addEventListener('input', () => {
    traffic.parallel = Number(parallel.value);
    drawing.setStalks(traffic.parallel);
    write('parallel-value', parallel.value);
  });
  find('burst').addEventListener('click', () => traffic.burst(BURST_BYTES));
  const pause = find<HTMLButtonElement>('pause');
  pause.addEventListener('click', () => {
    traffic.paused = !traffic.paused;
    pause.setAttribute('aria-pressed', String(traffic.paused));
    pause.textContent = traffic.paused ? 'Resume' : 'Pause';
  });
}

function showMeasurements(): void {
  const throughputChart = new ThroughputChart(find('throughput-chart'), find('throughput-readout'));
  const roundTripChart = new RoundTripChart(find('round-trip-chart'));
  setInterval(() => {
    const now = performance.now();
    const rates = history.rates(now);
    const trips = probe.history();
    throughputChart.draw(rates);
    roundTripChart.draw(trips, now);
    const latest = trips.flatMap(({ milliseconds }) => milliseconds ?? []).slice(-50);
    const lastSecond = rates.slice(-4);
    const returning = lastSecond.reduce((sum, { returned }) => sum + returned, 0) / lastSecond.length;
    peak = Math.max(peak, ...lastSecond.map(({ returned }) => returned));
    write('round-trip', formatNumber(median(latest)));
    write('round-trip-detail', `best ${formatNumber(Math.min(...latest))}, worst ${formatNumber(Math.max(...latest))}`);
    write('throughput', formatNumber(returning));
    write('throughput-detail', `peak ${formatNumber(peak)}`);
    write('streams', String(counts.finished));
    write('streams-detail', `${counts.open} open, ${counts.failed} failed`);
    write('datagrams', String(probe.returned));
    write('datagrams-detail', `${probe.lost} lost`);
  }, 250);
}

offerControls();
showMeasurements();
void showPaths({
  section: find('paths-section'),
  legend: find('paths-legend'),
  rateChart: find('path-rate-chart'),
  roundTripChart: find('path-round-trip-chart'),
  rows: find('paths'),
});
void showLoads(find('loads'), find('loads-summary'));
if ('WebTransport' in window) {
  // A page in the background would only measure its own timers.
  const active = (): boolean => session.isOpen && !document.hidden;
  probe.start(active);
  traffic.start(active);
  void session.run();
} else {
  setState('lost', 'This browser has no WebTransport. Try a current Chromium or Firefox');
}
