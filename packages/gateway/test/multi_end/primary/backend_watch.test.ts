import { EventEmitter } from 'node:events';
import type { ServerConnection } from '@sheaf/native';
import { pino } from 'pino';
import { beforeEach, expect, it, vi } from 'vitest';
import type { BackboneMessage, BackendState } from '../../../src/multi_end/backbone/messages.js';
import { loadSodium } from '../../../src/multi_end/backbone/sealed_message.js';
import { BackendWatch, type BackendWatchOptions } from '../../../src/multi_end/primary/backend_watch.js';
import { NodeKey } from '../../../src/values/node_key.js';
import { fakeExchange, FakeResponse } from '../../support/fake_backend.js';

class FakeLink extends EventEmitter {
  readonly done: string[] = [];
  channel: { run: string } | undefined;
  renew(): void {
    this.done.push('renew');
  }
  start(): void {
    this.done.push('start');
  }
  retire(): void {
    this.done.push('retire');
  }
  close(): Promise<void> {
    this.done.push('close');
    return Promise.resolve();
  }
}

const sodium = await loadSodium();
let link: FakeLink;
let requests: FakeLink;
let runs: FakeLink;
let channel: EventEmitter;
let watch: BackendWatch;
let sent: string[];
beforeEach(() => {
  link = new FakeLink();
  requests = new FakeLink();
  runs = new FakeLink();
  sent = [];
  channel = Object.assign(new EventEmitter(), {
    run: 'a',
    session: {},
    send: ({ type }: BackboneMessage) => void sent.push(type),
  });
  watch = new BackendWatch({
    reference: { id: 0, name: 'backend1', health: { interval: 100, timeout: 1_000 } },
    link,
    requests,
    runs,
    key: NodeKey.generate(),
    sodium,
    addresses: () => [],
    onReplaced: () => sent.push('replaced'),
    log: pino({ level: 'silent' }),
  } as unknown as BackendWatchOptions);
  link.emit('open', channel, {});
});

const pong = (returns: boolean, requests = 0, state: BackendState = 'serving'): BackboneMessage => ({
  type: 'pong',
  sequence: 1,
  state,
  load: 0,
  connections: 0,
  requests,
  bytesSent: 0,
  bytesReceived: 0,
  returns,
});

it('is connected for runs while the backend takes them', async () => {
  for (const returns of [false, true, true, false, false, true]) {
    channel.emit('message', pong(returns));
    await new Promise(setImmediate);
  }
  expect(runs.done).toEqual(['start', 'close', 'start']);
});

it('connects anew to a process that has taken the place of another', () => {
  runs.channel = { run: 'a' };
  link.emit('open', Object.assign(new EventEmitter(), { run: 'a', session: {}, send: () => undefined }));
  expect(runs.done).toEqual([]);
  link.emit('open', Object.assign(new EventEmitter(), { run: 'b', session: {}, send: () => undefined }));
  expect([runs.done, requests.done]).toEqual([['renew'], []]);
});

it('has the requests of its latest report, and those that this gateway began or ended since', () => {
  const [first, second, third] = [1, 2, 3].map(() => fakeExchange(new FakeResponse()));
  watch.places.enter(first!, 0);
  watch.returning.enter(second!, 0);
  expect(watch.requestsActive).toBe(2);
  // Two of these five are this gateway's.
  channel.emit('message', pong(true, 5));
  expect(watch.requestsActive).toBe(5);
  watch.returning.enter(third!, 0);
  expect(watch.requestsActive).toBe(6);
  watch.places.leave(first!);
  watch.returning.leave(second!);
  expect(watch.requestsActive).toBe(4);
});

it('tells a backend that drains when no exchange needs it', () => {
  const says = (state: BackendState): void => void channel.emit('message', pong(true, 0, state));
  const done = (): number => sent.filter((type) => type === 'done').length;
  const [before, after] = [1, 2].map(() => fakeExchange(new FakeResponse()));
  watch.dependents.add(before!);
  says('serving');
  says('draining');
  says('draining');
  watch.dependents.add(after!);
  expect(done()).toBe(0);
  watch.dependents.delete(before!);
  expect(done()).toBe(0);
  watch.dependents.delete(after!);
  expect(done()).toBe(1);
  // It serves again before it hears of the rest.
  says('serving');
  watch.dependents.add(after!);
  says('draining');
  says('serving');
  watch.dependents.delete(after!);
  expect(done()).toBe(1);
  says('draining');
  expect(done()).toBe(2);
});

it('stays with a process that was replaced until the other one is there, no client is left and no exchange needs it', async () => {
  const says = (state: BackendState): void => void channel.emit('message', pong(true, 0, state));
  const next = { addConnection: vi.fn() };
  const exchange = fakeExchange(new FakeResponse());
  watch.start();
  says('serving');
  says('replaced');
  says('replaced');
  expect([watch.state, sent.filter((type) => type === 'replaced')]).toEqual(['serving', ['replaced']]);
  // It would stop, while new exchanges still come to it.
  says('draining');
  expect(sent).not.toContain('done');
  watch.dependents.add(exchange);
  let closed = false;
  const left = watch.leaveTo(next as unknown as BackendWatch).then(() => (closed = true));
  const connection = {} as ServerConnection;
  watch.addConnection(connection);
  expect(next.addConnection.mock.calls).toEqual([[connection]]);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect([closed, sent.includes('done')]).toEqual([false, false]);
  watch.dependents.delete(exchange);
  expect(sent).toContain('done');
  await left;
  expect([link, requests].map(({ done }) => done)).toEqual([
    ['start', 'retire', 'close'],
    ['start', 'retire', 'close'],
  ]);
});

it('takes a process that was replaced for lost as soon as its connection ends', async () => {
  watch.start();
  channel.emit('message', pong(true));
  channel.emit('message', pong(true, 0, 'replaced'));
  void watch.leaveTo(watch);
  link.emit('close', 'the process has ended');
  expect(watch.state).toBe('lost');
  await watch.close();
});

// Each turn of its loop takes longer than the backend may be silent, and what the backend answers is read in the next but one.
it('loses no backend while its own turns are long', async () => {
  const lost = vi.fn();
  watch.enter({ onLost: lost, onSilence: () => undefined });
  channel.emit('message', pong(true));
  for (let turn = 0; turn < 3; turn += 1) {
    for (let half = 0; half < 2; half += 1) {
      const end = performance.now() + 505;
      while (performance.now() < end);
      await new Promise(setImmediate);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    expect([watch.state, lost.mock.calls.length]).toEqual(['serving', 0]);
    channel.emit('message', pong(true));
  }
});

it('loses no backend for time in which its own process stood still', async () => {
  const lost = vi.fn();
  watch.enter({ onLost: lost, onSilence: () => undefined });
  channel.emit('message', pong(true));
  const end = performance.now() + 1_500;
  while (performance.now() < end);
  // The response to the ping that follows
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([watch.state, lost.mock.calls.length]).toEqual(['serving', 0]);
  channel.emit('message', pong(true));
  await vi.waitFor(() => expect([watch.state, lost.mock.calls.length]).toEqual(['lost', 1]), 30_000);
  channel.emit('message', pong(true));
  expect(watch.state).toBe('serving');
});
