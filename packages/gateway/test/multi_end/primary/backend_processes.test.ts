import type { ServerConnection } from '@sheaf/native';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import type { BackendReport } from '../../../src/observability/backend_report.js';
import { BackendProcesses } from '../../../src/multi_end/primary/backend_processes.js';
import type { BackendWatch } from '../../../src/multi_end/primary/backend_watch.js';

/** One process, whose connections the test opens and ends */
class FakeWatch {
  readonly done: string[] = [];
  proxied = 0;
  hasServed = true;
  handOvers = {
    remove: () => void this.done.push('remove'),
    onBackendMessage: () => void this.done.push('message'),
    onPathAbandoned: () => void this.done.push('abandoned'),
  };
  hear!: () => void;
  end!: () => void;
  readonly #heard = new Promise<void>((resolve) => (this.hear = resolve));
  readonly #ended = new Promise<void>((resolve) => (this.end = resolve));

  constructor(
    readonly number: number,
    readonly replace: () => void,
  ) {}

  ready(): Promise<void> {
    return this.#heard;
  }
  leaveTo(next: FakeWatch): Promise<void> {
    this.done.push(`leave to ${next.number}`);
    return this.#ended;
  }
  start(): void {
    this.done.push('start');
  }
  close(): Promise<void> {
    this.done.push('close');
    return Promise.resolve();
  }
  drain(drains: boolean): void {
    this.done.push(`drain ${drains}`);
  }
  addConnection(): void {
    this.done.push('add');
  }
  report(): BackendReport {
    return { name: 'one', connections: 1, returning: 2, proxied: this.proxied } as BackendReport;
  }
}

const turn = (): Promise<void> => new Promise(setImmediate);
const connection = {} as ServerConnection;
let watches: FakeWatch[];
let processes: BackendProcesses;
beforeEach(() => {
  watches = [];
  processes = new BackendProcesses(7, (onReplaced) => {
    const watch = new FakeWatch(watches.length, onReplaced);
    watches.push(watch);
    return watch as unknown as BackendWatch;
  });
  processes.start();
});
const current = (): number => (processes.current as unknown as FakeWatch).number;
const done = (): string[][] => watches.map((watch) => watch.done.splice(0));

it('a process stays the current one until the one in its place was heard', async () => {
  watches[0]!.replace();
  await turn();
  expect([current(), done()]).toEqual([0, [['start'], ['start']]]);
  watches[1]!.hear();
  await turn();
  expect([current(), done()]).toEqual([1, [['leave to 1'], []]]);
  processes.addConnection(connection);
  // Those that the first one has are still its own.
  processes.onBackendMessage(connection, Buffer.alloc(0));
  processes.onPathAbandoned(connection, 0);
  processes.removeConnection(connection);
  const both = ['message', 'abandoned', 'remove'];
  expect(done()).toEqual([both, ['add', ...both]]);
  watches[0]!.end();
  await turn();
  processes.removeConnection(connection);
  expect(done()).toEqual([[], ['remove']]);
});

it('a process that is replaced before it was ready is closed', async () => {
  watches[0]!.replace();
  watches[1]!.replace();
  watches[2]!.hear();
  await turn();
  expect([current(), done()]).toEqual([2, [['start', 'leave to 2'], ['start', 'close'], ['start']]]);
  watches[1]!.hear();
  await turn();
  expect([current(), done()]).toEqual([2, [[], [], []]]);
});

it('a process that says at once that it is replaced is asked again after pauses, by one connection at a time', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  watches[0]!.replace();
  for (let last = 1; last < 8; last += 1) {
    expect(watches).toHaveLength(last + 1);
    watches[last]!.hasServed = false;
    watches[last]!.replace();
    expect(watches).toHaveLength(last + 1);
    await vi.advanceTimersByTimeAsync(3_000);
  }
  expect(done().slice(1)).toEqual([...Array<string[]>(7).fill(['start', 'close']), ['start']]);
  await processes.close();
});

it('the operator drains all processes, also those that start later', async () => {
  processes.drain(true);
  watches[0]!.replace();
  await turn();
  expect(done()).toEqual([
    ['start', 'drain true'],
    ['drain true', 'start'],
  ]);
  processes.drain(false);
  expect(done()).toEqual([['drain false'], ['drain false']]);
});

it('reports the sum of all, also of those that have ended', async () => {
  watches[0]!.proxied = 5;
  watches[0]!.replace();
  watches[1]!.hear();
  await turn();
  watches[1]!.proxied = 3;
  expect(processes.report()).toMatchObject({ connections: 2, returning: 4, proxied: 8 });
  watches[0]!.end();
  await turn();
  expect(processes.report()).toMatchObject({ connections: 1, returning: 2, proxied: 8 });
});

it('closes all, and none becomes the current one later', async () => {
  watches[0]!.replace();
  await processes.close();
  watches[1]!.hear();
  await turn();
  expect([current(), done()]).toEqual([
    0,
    [
      ['start', 'close'],
      ['start', 'close'],
    ],
  ]);
});
