// Limits V8's heap to what a gateway needs, in a process that runs nothing but a gateway. A program that embeds a
// gateway decides about V8 itself. By default, V8 lets the young generation grow to 32 MB, and the old generation to a
// multiple of its live objects, before it collects garbage. With greedy clients, that garbage was larger than what the
// clients held. V8 reads both flags whenever it decides about growth, so they work without a command line.
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Size of V8's young generation, both halves together */
const youngBytes = 8 * 2 ** 20;
/** Garbage that may wait in the old generation, as a percentage of its live objects */
const garbagePercent = 50;

let mayGrow = true;

/**
 * Stops growth at `youngBytes`. V8 doubles the young generation when many objects survive, and shrinks it when idle;
 * after that it may grow again.
 */
function boundYoung(): void {
  const grows = youngSize() < youngBytes;
  if (grows === mayGrow) return;
  mayGrow = grows;
  setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`);
}

function youngSize(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? youngBytes;
}

/**
 * Grows the young generation to its bound now: loading the other modules takes one turn, during which no collection is
 * reported.
 */
function growYoung(): void {
  const survivors: object[] = [];
  while (youngSize() < youngBytes && survivors.length < 500_000) for (let i = 0; i < 10_000; i++) survivors.push({ i });
}

setFlagsFromString(`--heap-growing-percent=${garbagePercent}`);
growYoung();
boundYoung();
new PerformanceObserver(boundYoung).observe({ entryTypes: ['gc'] });
