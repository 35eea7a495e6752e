// Holds V8 to what a gateway needs. By itself it lets the young generation grow to 32 MB, and the old one to a multiple of what lives
// there, before it looks for garbage: with greedy clients that was more than what they held. Both flags are read whenever V8 decides
// about growth, so that they need not stand on the command line. Requests leave little behind, and pay nothing for it.
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
