import type { Http3Client } from '@sheaf/native';
import * as Moq from '@moq/net';
import { expect, it } from 'vitest';
import { ask, connect } from '../support/http3_client.js';
import { addGroup, announcement, framesOf, moqOffer, publish, speakMoq } from '../support/moq_client.js';
import { crash, openAtEach, startWorkers, type RunningWorkers } from '../support/workers.js';

const workers = 3;
const site = 'routes: [{ path: /, files: ./site }]';
const media = 'routes: [{ path: /live, media: {} }, { path: /, files: ./site }]';
const yaml = (routes: string): string => `listen: 127.0.0.1:0\nworkers: ${workers}\n${routes}\n`;

const name = Moq.Path.from('clock');
const bytes = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text));

interface Client {
  http: Http3Client;
  moq: Moq.Connection.Established;
}

const connectToEach = (running: RunningWorkers): Promise<Client[]> => openAtEach(running, () => openMoq(running.port));

async function openMoq(port: number): Promise<Client> {
  const http = await connect(port, { webtransport: true });
  return { http, moq: await speakMoq(await http.openWebTransport('/live', moqOffer), port) };
}

/** Waits for the broadcast, and returns a function that reads the frames of its next group. */
async function watch({ moq }: Client): Promise<() => Promise<string[]>> {
  await announcement(moq.announced(), name);
  const track = moq.consume(name).subscribe('video');
  return async () => {
    const group = await track.recvGroup();
    return (await framesOf(group!)).map(String);
  };
}

it('a broadcast that is published at one worker is watched at each, also by requests', async () => {
  const running = await startWorkers(yaml(site));
  // The route comes by a reload, in one worker after the other.
  expect(await running.change(yaml(media))).toMatchObject({ accepted: true });
  const clients = await connectToEach(running);
  const [first, publisher, last] = clients as [Client, Client, Client];
  const { video } = publish(publisher.moq, name);
  const viewers = await Promise.all([first, last].map(watch));
  addGroup(video, bytes('one', 'two'));
  for (const next of viewers) expect(await next()).toEqual(['one', 'two']);
  for (const { http } of clients)
    expect((await ask(http, { path: '/live/clock/video/newest' })).body.toString()).toContain('one');
  // Another reload leaves the broadcasts where they are.
  await running.change(yaml(media.replace('files: ./site', 'files: ./site, fallback: a.txt')));
  addGroup(video, bytes('three'));
  for (const next of viewers) expect(await next()).toEqual(['three']);
});

it('the newest publisher of a name counts, at whichever workers', async () => {
  const running = await startWorkers(yaml(media));
  const clients = await connectToEach(running);
  const [first, viewer, second] = clients as [Client, Client, Client];
  publish(first.moq, name);
  await Promise.all([viewer, second].map(watch));
  const { video } = publish(second.moq, name);
  addGroup(video, bytes('of the second'));
  for (const { http } of clients)
    await expect
      .poll(async () => (await ask(http, { path: '/live/clock/video/newest' })).body.toString())
      .toContain('of the second');
});

it('a worker that crashes takes its own broadcasts along, and its successor has those of others', async () => {
  const running = await startWorkers(yaml(media));
  const clients = await connectToEach(running);
  publish(clients[0]!.moq, Moq.Path.from('lost'));
  const { video } = publish(clients[1]!.moq, name);
  const announced = clients[2]!.moq.announced();
  await announcement(announced, 'lost');
  const next = await watch(clients[2]!);
  await crash(running.node, 0);
  await announcement(announced, 'lost', false);
  addGroup(video, bytes('goes on'));
  expect(await next()).toEqual(['goes on']);
  const [successor] = await connectToEach(running);
  expect((await ask(successor!.http, { path: '/live/clock/video/newest' })).body.toString()).toContain('goes on');
});
