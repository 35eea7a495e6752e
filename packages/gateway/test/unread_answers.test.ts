import { expect, it } from 'vitest';
import { mostUnread, UnreadAnswers } from '../src/edge/unread_answers.js';
import type { Exchange } from '../src/http/exchange.js';

const exchange = (unread: number) => {
  const made = { bytesSent: 0, response: { writableLength: unread, destroyed: false, destroy: () => (made.response.destroyed = true) } };
  return made;
};
type Made = ReturnType<typeof exchange>;

function watch(all: readonly Made[]): UnreadAnswers {
  const answers = new UnreadAnswers();
  for (const each of all) answers.add(each as unknown as Exchange);
  return answers;
}
const destroyed = (all: readonly Made[]): number[] => all.flatMap(({ response }, index) => (response.destroyed ? [index] : []));

it('ends the slowest answers when too many wait for their clients', () => {
  const all = Array.from({ length: mostUnread + 2 }, () => exchange(1_000));
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
  const all = Array.from({ length: 3 * mostUnread }, (_each, index) => exchange(index % 2 === 0 ? 0 : 1_000));
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
  const all = Array.from({ length: 2 * mostUnread }, () => exchange(1_000));
  const answers = watch(all);
  answers.look(0);
  for (const each of all.slice(mostUnread)) answers.delete(each as unknown as Exchange);
  answers.look(10_000);
  expect(destroyed(all)).toEqual([]);
});
