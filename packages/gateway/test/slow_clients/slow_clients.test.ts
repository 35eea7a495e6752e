import { describe, expect, it } from 'vitest';
import { BodyTimeout } from '../../src/http/received_body.js';
import { SlowClients } from '../../src/slow_clients/slow_clients.js';
import type { Exchange } from '../../src/http/exchange.js';

const maxUnread = 12;

const exchange = (unread: number) => {
  const made = {
    bytesSent: 0,
    bytesReceived: 0,
    request: {},
    response: { writableLength: unread, destroyed: false, destroy: () => (made.response.destroyed = true) },
  };
  return made;
};
type Made = ReturnType<typeof exchange>;

function watch(all: readonly Made[]): SlowClients {
  const answers = new SlowClients({ most: maxUnread });
  for (const each of all) answers.add(each as unknown as Exchange);
  return answers;
}
const destroyed = (all: readonly Made[]): number[] =>
  all.flatMap(({ response }, index) => (response.destroyed ? [index] : []));

it('ends the slowest responses when too many wait for their clients', () => {
  const all = Array.from({ length: maxUnread + 2 }, () => exchange(1_000));
  const answers = watch(all);
  answers.look(0);
  for (const [index, each] of all.entries()) each.bytesSent = index === 3 ? 0 : index === 7 ? 10 : 100_000;
  answers.look(4_999);
  expect(destroyed(all)).toEqual([]);
  answers.look(5_000);
  expect(destroyed(all)).toEqual([3, 7]);
  answers.look(60_000);
  expect(destroyed(all)).toEqual([3, 7]);
});

it('leaves answers alone whose clients catch up, and those that wait for the gateway', () => {
  const all = Array.from({ length: 3 * maxUnread }, (_each, index) => exchange(index % 2 === 0 ? 0 : 1_000));
  const answers = watch(all);
  answers.look(0);
  for (const each of all) each.response.writableLength = 0;
  answers.look(4_000);
  for (const each of all) each.response.writableLength = 1_000;
  answers.look(6_000);
  answers.look(10_000);
  expect(destroyed(all)).toEqual([]);
});

it('forgets answers that are complete', () => {
  const all = Array.from({ length: 2 * maxUnread }, () => exchange(1_000));
  const answers = watch(all);
  answers.look(0);
  for (const each of all.slice(maxUnread)) answers.delete(each as unknown as Exchange);
  answers.look(10_000);
  expect(destroyed(all)).toEqual([]);
});

describe('a client that does nothing', () => {
  const asked = (keys: object, network = '192.0.2.1') => {
    const made = {
      bytesSent: 0,
      bytesReceived: 0,
      request: { remoteAddress: network },
      waitForBody: undefined as ((error: Error) => void) | undefined,
      response: {
        writableLength: 0,
        headersSent: true,
        destroyed: false,
        destroy: () => (made.response.destroyed = true),
      },
    };
    return Object.assign(made, keys);
  };
  const reasons: string[] = [];
  const watchFor = (all: readonly object[], most = 1_000) => {
    reasons.length = 0;
    const clients = new SlowClients({
      most,
      shares: true,
      slowRate: 1,
      unreadMs: 60_000,
      bodyMs: 30_000,
      onEnd: (reason) => reasons.push(reason),
    });
    for (const each of all) clients.add(each as Exchange);
    return clients;
  };

  it('loses its response after a while, and keeps it as long as it takes something', () => {
    const [silent, reads] = [asked({}), asked({})];
    const clients = watchFor([silent, reads]);
    for (let second = 0; second < 60; second++) {
      for (const each of [silent, reads]) each.response.writableLength = 100;
      reads.bytesSent += 10_000;
      clients.look(second * 1_000);
    }
    expect(reasons).toEqual([]);
    clients.look(60_000);
    expect([reasons, silent.response.destroyed, reads.response.destroyed]).toEqual([['unread'], true, false]);
  });

  it('may wait for other responses on its connection', () => {
    const carrier = {};
    const [waits, reads] = [asked({}), asked({})].map((each) =>
      Object.assign(each, { request: { remoteAddress: '192.0.2.1', carrier } }),
    );
    const clients = watchFor([waits!, reads!]);
    for (const each of [waits!, reads!]) each.response.writableLength = 100;
    for (let second = 0; second <= 200; second++) {
      reads!.bytesSent += 10_000;
      clients.look(second * 1_000);
    }
    expect(reasons).toEqual([]);
    for (let second = 201; second <= 261; second++) clients.look(second * 1_000);
    expect(reasons).toEqual(['unread', 'unread']);
  });

  it('is told that its body did not come, unless its response has begun', () => {
    const told: Error[] = [];
    const [before, after] = [asked({}), asked({})];
    for (const each of [before, after]) each.waitForBody = (error) => told.push(error);
    before.response.headersSent = false;
    const clients = watchFor([before, after]);
    for (const now of [0, 29_999]) clients.look(now);
    expect(told).toEqual([]);
    for (const now of [30_000, 3_000_000]) clients.look(now);
    expect(told).toEqual([expect.any(BodyTimeout)]);
    expect([reasons, before.response.destroyed, after.response.destroyed]).toEqual([['no_body'], false, false]);
  });

  it('of a network with many of its kind goes, and none of another network', () => {
    const many = Array.from({ length: 20 }, () => asked({}));
    const other = asked({}, '192.0.2.2');
    const clients = watchFor([...many, other], 10);
    for (const each of [...many, other]) each.response.writableLength = 100;
    clients.look(0);
    many[3]!.bytesSent = 4_999;
    many[4]!.bytesSent = 5_001;
    clients.look(5_000);
    // Nine are free beside the other one's: half of them.
    expect(many.filter(({ response }) => !response.destroyed)).toHaveLength(6);
    expect([many[3], many[4], other].map((each) => each!.response.destroyed)).toEqual([false, false, false]);
  });
});
