import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { PersistentClient, type LostConnection } from './persistent_client.js';
import { translatorTo } from './relay.js';
import { seededRandom } from './seeded_random.js';
import { sumOf } from '../../src/workers/sums.js';
import { threadOf, type RunningWorkers } from './workers.js';

/** Pages of a site, each for one connection of a seed */
const mostConnections = 512;
const clients = 8;

export const pagesOfConnections = (): Record<string, Buffer> =>
  Object.fromEntries(
    Array.from({ length: mostConnections }, (_, index) => [`site/pages/${index}.txt`, Buffer.alloc(5_000, 'x')]),
  );

/** A worker that has ended, and when */
interface Crash {
  worker: number;
  at: number;
}

export interface CrashReport {
  crashes: number;
  lost: number;
  answered: number;
  connections: number;
  /** Handshakes that had to show their address, as the workers count that run at the end */
  retries: number;
  /** Connections with 0-RTT that was accepted, further paths that were opened, and changes of all translated addresses */
  early: number;
  paths: number;
  rebound: number;
}

/** Crashes workers at random under load, and checks that this costs their own connections and no others. */
export async function crashWorkers(site: RunningWorkers, seed: number): Promise<CrashReport> {
  const random = seededRandom(seed);
  const translator = await translatorTo(site.port);
  let pages = 0;
  const nextPage = (): string => `/pages/${pages++}.txt`;
  const options = { port: site.port, translated: translator.port, random, nextPage };
  const load = Array.from({ length: clients }, () => new PersistentClient(options));
  const running = load.map((client) => client.run());
  let rebound = 0;
  const rebind = (): void => {
    // An address that changes in a handshake ends it (RFC 9000 §9).
    if (load.some((client) => client.begins)) return;
    translator.rebind();
    rebound += 1;
  };
  const rebinding = setInterval(rebind, 50 + random() * 200);
  await sleep(400 + random() * 400);
  const crashes = await endWorkers(site, random);
  const { pool } = site.node;
  await vi.waitFor(() => expect([pool.restarts, pool.serving.length]).toEqual([crashes.length, 4]), 60_000);
  const whole = performance.now();
  // Connections of before and of after go on.
  await sleep(400);
  await Promise.all(load.map((client, index) => client.stop(whole, running[index]!)));
  clearInterval(rebinding);
  expect(pool.restarts).toBe(crashes.length);
  const workers = workersOf(site);
  const lost = load.flatMap((client) => client.lost.map((each) => ({ ...each, worker: workers.get(each.page) })));
  const told = `seed ${seed}, ${JSON.stringify({ crashes, whole })}`;
  expect(unexplained({ lost, crashes, whole }), told).toEqual([]);
  const { retriesSent: retries = 0 } = (await site.status()).transport ?? {};
  const [first, ...others] = load.map(({ counts }) => counts);
  return { crashes: crashes.length, lost: lost.length, retries, ...sumOf([first!, ...others]), rebound };
}

/** Ends one or two threads of workers, as a fault would. */
async function endWorkers(site: RunningWorkers, random: () => number): Promise<Crash[]> {
  const first = Math.floor(random() * 4);
  const workers = random() < 0.7 ? [first] : [first, (first + 1 + Math.floor(random() * 3)) % 4];
  return Promise.all(
    workers.map(async (worker) => {
      await sleep(random() * 200);
      await threadOf(site.node, worker).terminate();
      return { worker, at: performance.now() };
    }),
  );
}

/** Returns the worker of each page that the log has. */
function workersOf({ log }: RunningWorkers): Map<unknown, unknown> {
  return new Map(log.flatMap(({ msg, path, worker }) => (msg === 'request' ? [[path, worker] as const] : [])));
}

interface Outcome {
  /** Each with its worker, if the log has it */
  lost: readonly (LostConnection & { worker: unknown })[];
  crashes: readonly Crash[];
  /** Time at which all workers served again */
  whole: number;
}

/** Returns the connections whose end no crash explains, and those whose clients were not told. */
function unexplained({ lost, crashes, whole }: Outcome): Outcome['lost'] {
  return lost.filter(({ worker, begun, answered, closedBy, failure }) => {
    // The log of a worker ends with it, so that the first requests may be missing there.
    const mayBe = ({ worker: crashed }: Crash): boolean => crashed === worker || (worker === undefined && answered < 3);
    // Before a handshake is over, no client believes a reset (RFC 9000 §10.3). It waits for the successor, up to its own limit.
    if (answered === 0 && failure.includes('took too long')) return begun > whole || !crashes.some(mayBe);
    if (!crashes.some((crash) => mayBe(crash) && begun < crash.at)) return true;
    return answered > 0 && (closedBy === undefined || closedBy.includes('idle timeout'));
  });
}
