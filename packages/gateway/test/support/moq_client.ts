import * as Moq from '@moq/net';
import type { WebTransportSession } from '@sheaf/native';
import { onTestFinished } from 'vitest';
import { varint } from '../../src/media/moq/fields.js';
import { encodeSubscribe, REQUEST_STREAM, type SubscribeOptions } from '../../src/media/moq/messages.js';
import { connect } from './http3_client.js';

// `@moq/net` is made for browsers; Node 20 lacks two of their functions.
if (!('withResolvers' in Promise)) Object.assign(Promise, { withResolvers });
if (!('difference' in Set.prototype)) Object.assign(Set.prototype, { difference });

function withResolvers() {
  const functions: { resolve?: (value: unknown) => void; reject?: (reason: Error) => void } = {};
  const promise = new Promise((resolve, reject) => Object.assign(functions, { resolve, reject }));
  return { promise, ...functions };
}

function difference(this: ReadonlySet<unknown>, other: ReadonlySet<unknown>): Set<unknown> {
  return new Set([...this].filter((item) => !other.has(item)));
}

/** The offer of a client that speaks the version of moq-lite that the gateway speaks. */
export const moqOffer = { 'wt-available-protocols': '"moq-lite-05", "moq-lite-04"' };

/** A session to `/live` on our own transport. */
export async function openMoqSession(port: number): Promise<WebTransportSession> {
  return (await connect(port, { webtransport: true })).openWebTransport('/live', moqOffer);
}

/** A client of `@moq/net`, which speaks moq-lite over a session of our own transport; closes with the test. */
export async function connectMoq(port: number): Promise<Moq.Connection.Established> {
  return speakMoq(await openMoqSession(port), port);
}

/** Speaks moq-lite over a session that is open. */
export async function speakMoq(session: WebTransportSession, port: number): Promise<Moq.Connection.Established> {
  const transport = Object.assign(session, { protocol: 'moq-lite-05' }) as never;
  const connection = await Moq.Connection.connect(new URL(`https://127.0.0.1:${port}/live`), { transport });
  onTestFinished(() => connection.close());
  return connection;
}

/** Publishes a broadcast with a track `video`. */
export function publish(connection: Moq.Connection.Established, name: string) {
  const broadcast = new Moq.Broadcast.Producer();
  const video = broadcast.createTrack('video', { timescale: Moq.Time.Timescale(1_000_000) });
  connection.publish(Moq.Path.from(name), broadcast);
  return { broadcast, video };
}

/** Publishes a broadcast with a track `video`, and a catalog that names it, as channels need it. */
export function publishCataloged(connection: Moq.Connection.Established, name: string) {
  const published = publish(connection, name);
  const catalog = { video: { renditions: { video: { codec: 'vp09.00.10.08' } } } };
  published.broadcast.createTrack('catalog.json').writeJson(catalog);
  return published;
}

/** Adds a complete group with these frames, 40 ms apart. */
export function addGroup(track: Moq.Track.Producer, frames: readonly Uint8Array[]): number {
  const group = track.appendGroup();
  for (const [index, payload] of frames.entries())
    group.writeFrame({ payload, timestamp: Moq.Time.Timestamp.fromMillis(Moq.Time.Milli(index * 40)) });
  group.close();
  return group.sequence;
}

/** Resolves when the broadcast begins or ends. */
export async function announcement(
  announcements: Moq.Announce.Consumer,
  name: string,
  active = true,
): Promise<Moq.Announce.Event> {
  for (;;) {
    const next = await announcements.next();
    if (next === undefined) throw new Error('the announcements ended');
    if (next.path === name && next.active === active) return next;
  }
}

/** Reads all frames of a group. */
export async function framesOf(group: Moq.Group.Consumer): Promise<Buffer[]> {
  const frames: Buffer[] = [];
  for (;;) {
    const frame = await group.readFrame();
    if (frame === undefined) return frames;
    frames.push(Buffer.from(frame.payload));
  }
}

/** Sends bytes on a new bidirectional stream. Returns the reader of its other half. */
export async function request(session: WebTransportSession, bytes: Uint8Array) {
  const { readable, writable } = await session.createBidirectionalStream();
  const writer = writable.getWriter();
  writer.closed.catch(() => undefined);
  await writer.write(bytes);
  return readable.getReader();
}

/** The request for the track `video` of a broadcast, with id 0. */
export function subscribe(broadcast: string, options: Partial<SubscribeOptions> = {}): Buffer {
  const defaults = { priority: 1, ordered: false, maxLatency: 0, start: undefined, end: undefined };
  const message = encodeSubscribe({ id: 0, broadcast, track: 'video', ...defaults, ...options });
  return Buffer.concat([varint(REQUEST_STREAM.subscribe), message]);
}
