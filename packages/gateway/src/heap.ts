// Holds V8 to what a gateway needs, in a process that is nothing but a gateway: whoever embeds one decides about V8. By itself V8
// lets the young generation grow to 32 MB, and the old one to a multiple of what lives there, before it collects garbage. With greedy
// clients that was more than they held. V8 reads both flags whenever it decides about growth, so they work without a command line.
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Of V8's young generation, both halves. */
const youngBytes = 8 * 2 ** 20;
/** Garbage that may wait in the old generation, as a share of what lives there. */
const garbagePercent = 50;

let mayGrow = true;

/** V8 doubles the young generation when much of it survived, and shrinks it in idle times: then it may grow again. */
function boundYoung(): void {
  const grows = youngSize() < youngBytes;
  if (grows === mayGrow) return;
  mayGrow = grows;
  setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`);
}

function youngSize(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? youngBytes;
}

/** Loading the rest takes one turn, in which nobody is told of collections. */
function growYoung(): void {
  const survivors: object[] = [];
  while (youngSize() < youngBytes && survivors.length < 500_000) for (let i = 0; i < 10_000; i++) survivors.push({ i });
}

setFlagsFromString(`--heap-growing-percent=${garbagePercent}`);
growYoung();
boundYoung();
new PerformanceObserver(boundYoung).observe({ entryTypes: ['gc'] });
