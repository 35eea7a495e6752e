import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { WorkerLinks } from '../../src/worker_links/worker_links.js';

const process = Buffer.from('a process');

function connect(left: WorkerLinks, right: WorkerLinks): void {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  left.connect(1, port1);
  right.connect(0, port2);
}

function openPair(later?: (act: () => void) => void): [WorkerLinks, WorkerLinks] {
  const [left, right] = [new WorkerLinks({ index: 0, process }, later), new WorkerLinks({ index: 1, process }, later)];
  connect(left, right);
  return [left, right];
}

/** Opens a use. Tells of the ports that it got, and how many of them were closed. */
function open(links: WorkerLinks, use: string) {
  const got: { ports: MessagePort[]; firsts: boolean[]; closed: number } = { ports: [], firsts: [], closed: 0 };
  const close = links.open(use, (port, isFirst) => {
    got.ports.push(port);
    got.firsts.push(isFirst);
    port.once('close', () => (got.closed += 1));
  });
  return Object.assign(got, { close });
}

it('two workers that open the same use get the ends of one port, and others get none', async () => {
  const [left, right] = openPair();
  const one = open(left, 'media');
  const alone = open(left, 'other');
  const two = open(right, 'media');
  await expect.poll(() => [one.firsts, two.firsts]).toEqual([[true], [false]]);
  two.ports[0]!.postMessage('hello');
  const heard: unknown[] = [];
  one.ports[0]!.on('message', (message) => heard.push(message));
  await expect.poll(() => heard).toEqual(['hello']);
  expect(alone.ports).toEqual([]);
});

it('a use that closes ends its ports at both workers, and may open again', async () => {
  const [left, right] = openPair();
  const one = open(left, 'media');
  const two = open(right, 'media');
  await expect.poll(() => two.ports.length).toBe(1);
  two.close();
  await expect.poll(() => [one.closed, two.closed]).toEqual([1, 1]);
  const again = open(right, 'media');
  await expect.poll(() => [one.ports.length - one.closed, again.ports.length - again.closed]).toEqual([1, 1]);
  // The use was taken over, so this closes nothing.
  two.close();
  const heard: unknown[] = [];
  one.ports.at(-1)!.on('message', (message) => heard.push(message));
  again.ports.at(-1)!.postMessage('still here');
  await expect.poll(() => heard).toEqual(['still here']);
  again.close();
  await expect.poll(() => one.ports.length - one.closed).toBe(0);
});

it('a port that one worker closes is made again after a pause, for uses that are still open', async () => {
  const pauses: (() => void)[] = [];
  const [left, right] = openPair((act) => pauses.push(act));
  const [one, other] = [open(left, 'media'), open(left, 'other')];
  const [two, ended] = [open(right, 'media'), open(right, 'other')];
  await expect.poll(() => [two.ports.length, ended.ports.length]).toEqual([1, 1]);
  two.ports[0]!.close();
  other.ports[0]!.close();
  await expect.poll(() => pauses.length).toBe(4);
  expect([one.ports.length, two.ports.length]).toEqual([1, 1]);
  ended.close();
  // What comes after the news of the end has brought it.
  const after = [open(right, 'after'), open(left, 'after')];
  await expect.poll(() => after.map(({ ports }) => ports.length)).toEqual([1, 1]);
  for (const act of pauses) act();
  await expect
    .poll(() => [one.firsts, two.firsts])
    .toEqual([
      [true, true],
      [false, false],
    ]);
  expect([other.ports.length, ended.ports.length]).toEqual([1, 1]);
});

it('the successor of a worker gets new ports, and those of the worker before are closed', async () => {
  const [left, right] = openPair();
  const one = open(left, 'media');
  open(right, 'media');
  await expect.poll(() => one.ports.length).toBe(1);
  const successor = new WorkerLinks({ index: 1, process });
  connect(left, successor);
  const two = open(successor, 'media');
  await expect.poll(() => [one.ports.length, one.closed, two.ports.length]).toEqual([2, 1, 1]);
});

it('ids are those of a process and a use', () => {
  const [left, right] = openPair();
  expect(left.idOf('media')).toEqual(right.idOf('media'));
  expect(left.idOf('media')).not.toEqual(left.idOf('other'));
  expect(left.idOf('media')).not.toEqual(new WorkerLinks({ index: 0, process: Buffer.of(1) }).idOf('media'));
});
