import { expect, it } from 'vitest';
import { Exclusive } from '../../src/values/exclusive.js';

it('work that excludes other work runs in turn, also after a failure', async () => {
  const turns = new Exclusive();
  const done: string[] = [];
  const leave = await turns.enter();
  const failed = turns.run(() => Promise.reject(new Error('no')));
  const second = turns.run(() => Promise.resolve(void done.push('second')));
  failed.catch(() => done.push('failed'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual([]);
  leave();
  await second;
  await expect(failed).rejects.toThrow('no');
  expect(done).toEqual(['failed', 'second']);
});
