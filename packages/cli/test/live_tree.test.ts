import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from './support/process.js';
import { LiveTree } from '../src/demo/live_tree.js';

/** A tree, something that hears its group, and something that sends to it. */
async function startTree(loss: number, random: () => number) {
  const group = { address: '232.98.7.11', port: await freePort() };
  const [member, sender] = [createSocket('udp4'), createSocket('udp4')];
  onTestFinished(() => void [member, sender].map((socket) => socket.close()));
  member.bind(group.port, group.address);
  await once(member, 'listening');
  member.addSourceSpecificMembership('127.0.0.1', group.address, '127.0.0.1');
  const tree = await LiveTree.start({ group, source: '127.0.0.1', loss, random });
  onTestFinished(() => tree.close());
  const heard: string[] = [];
  member.on('message', (packet) => heard.push(String(packet)));
  const send = (text: string): void => sender.send(text, tree.relay.port, tree.relay.address);
  return { tree, heard, send };
}

it('sends every packet on to the group, except while it is cut', async () => {
  const { tree, heard, send } = await startTree(0, () => 0);
  send('first');
  await expect.poll(() => heard).toEqual(['first']);
  tree.isCut = true;
  send('second');
  await expect.poll(() => tree.counts.cut).toBe(1);
  tree.isCut = false;
  send('third');
  await expect.poll(() => heard).toEqual(['first', 'third']);
  expect(tree.counts).toEqual({ forwarded: 2, lost: 0, cut: 1 });
});

it('loses its share of the packets', async () => {
  const chances = [0.05, 0.1, 0.9];
  const { tree, heard, send } = await startTree(0.1, () => chances.shift()!);
  send('first');
  await expect.poll(() => tree.counts.lost).toBe(1);
  send('second');
  send('third');
  await expect.poll(() => heard).toEqual(['second', 'third']);
});
