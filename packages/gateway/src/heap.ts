// Limits V8's heap to what a gateway needs, in a process that runs nothing but a gateway. A program that embeds a
// gateway decides about V8 itself. By default, V8 lets the young generation grow to 32 MB, and the old generation to a
// multiple of its live objects, before it collects garbage. With greedy clients, that garbage was larger than what the
// clients held. V8 reads both flags whenever it decides about growth, so they work without a command line.
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { performance, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { IdleCollection } from './idle_collection.js';

/** Size of V8's young generation, both halves together */
const youngBytes = 8 * 2 ** 20;
/** Garbage that may wait in the old generation, as a percentage of its live objects */
const garbagePercent = 50;
/**
 * Collections that the descriptions of objects outlive of which there is none. By default it is two. A gateway that is idle has
 * no requests, and forgot with them how to handle them fast: it compiled the same functions again for the next ones.
 */
const manyCollections = 1_000_000;
/** Time in milliseconds after which the gateway looks again whether it is idle */
const lookMs = 500;

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

/** Returns V8's function that collects all garbage. V8 gives it only to contexts that are made while the flag is set. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}

/** Without the addon, the C library keeps what native code has freed. */
async function returnFreed(): Promise<void> {
  // A static import would load the addon before this module, and make the young generation grow.
  const { returnFreedMemory } = await import('@sheaf/native');
  try {
    returnFreedMemory();
  } catch {
    return;
  }
}

function collectWhenIdle(): void {
  const collectGarbage = collector();
  const collect = (): void => {
    collectGarbage();
    // Native objects of dead sessions are freed after the collection.
    setImmediate(() => void returnFreed());
  };
  const held = (): number => {
    const { used_heap_size, external_memory } = getHeapStatistics();
    return used_heap_size + external_memory;
  };
  const collection = new IdleCollection({ held, collect });
  const watch = (message: unknown): void => {
    (message as { socket: Socket }).socket.once('close', () => collection.connectionClosed());
  };
  // Clients of HTTP/3 are noticed by the connections to upstreams that end with them.
  subscribe('net.server.socket', watch);
  subscribe('net.client.socket', watch);
  let before = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    collection.look(performance.now(), performance.eventLoopUtilization(now, before).utilization);
    before = now;
  }, lookMs).unref();
}

setFlagsFromString(`--heap-growing-percent=${garbagePercent}`);
setFlagsFromString(`--retain-maps-for-n-gc=${manyCollections}`);
growYoung();
boundYoung();
new PerformanceObserver(boundYoung).observe({ entryTypes: ['gc'] });
collectWhenIdle();
