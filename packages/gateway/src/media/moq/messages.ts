import type { Publication } from '../model/broadcast.js';
import type { TrackInfo } from '../model/track.js';
import { Cursor, violation } from './cursor.js';
import { bigVarint, byte, flag, message, optional, text, varint, type Field } from './fields.js';

/**
 * Messages of moq-lite-05 (draft-lcurley-moq-lite), as the packages `@moq/net` 0.2 and 0.3 write them: without compression and durations,
 * which later revisions of the draft add. Decoders get the bytes behind the length.
 */

/** The WebTransport protocol that both sides agree on */
export const MOQ_PROTOCOL = 'moq-lite-05';

/** First integer of a bidirectional stream */
export const REQUEST_STREAM = { announce: 1, subscribe: 2, fetch: 3, probe: 4, goaway: 5, track: 6 } as const;

/** First integer of a unidirectional stream */
export const DATA_STREAM = { group: 0, setup: 1 } as const;

/** Bounds of what a peer may send */
export const MOQ_LIMITS = {
  /** Bytes of a message, except for frames */
  message: 16 * 1_024,
  /** Bytes of the name of a broadcast or track */
  name: 1_024,
  /** Nodes that a broadcast came through */
  hops: 32,
  setupParameters: 64,
  /** Bytes of a frame */
  frame: 8 * 1_024 * 1_024,
} as const;

/** Parameter of SETUP: the number by which nodes recognize their own announcements */
const ORIGIN_PARAMETER = 5;

export function encodeSetup(origin: bigint): Buffer {
  const value = bigVarint(origin);
  return message(varint(1), varint(ORIGIN_PARAMETER), varint(value.length), value);
}

/** Checks the form of a SETUP. Its parameters are hints that nothing here needs. */
export function decodeSetup(bytes: Uint8Array): void {
  const cursor = new Cursor(bytes);
  const count = cursor.varint();
  if (count > MOQ_LIMITS.setupParameters) throw violation(`SETUP has ${count} parameters`);
  const seen = new Set<bigint>();
  for (let index = 0; index < count; index += 1) {
    const id = cursor.bigVarint();
    if (seen.has(id)) throw violation(`SETUP has the parameter ${id} twice`);
    seen.add(id);
    cursor.raw(cursor.varint());
  }
  cursor.end();
}

export interface AnnounceRequest {
  prefix: string;
  /** Broadcasts that came through this node are left out; 0 for none. */
  excludeHop: bigint;
}

export function encodeAnnounceRequest({ prefix, excludeHop }: AnnounceRequest): Buffer {
  return message(text(prefix), bigVarint(excludeHop));
}

export function decodeAnnounceRequest(bytes: Uint8Array): AnnounceRequest {
  const cursor = new Cursor(bytes);
  const request = { prefix: cursor.text(MOQ_LIMITS.name), excludeHop: cursor.bigVarint() };
  cursor.end();
  return request;
}

export interface AnnounceOk {
  /** The node that announces */
  origin: bigint;
  /** Announcements that follow at once */
  active: number;
}

export function encodeAnnounceOk({ origin, active }: AnnounceOk): Buffer {
  return message(bigVarint(origin), varint(active));
}

export function decodeAnnounceOk(bytes: Uint8Array): AnnounceOk {
  const cursor = new Cursor(bytes);
  const ok = { origin: cursor.bigVarint(), active: cursor.varint() };
  cursor.end();
  return ok;
}

export interface Announcement {
  active: boolean;
  suffix: string;
  /** Nodes that the broadcast came through, its publisher first, without the one that announces */
  hops: readonly bigint[];
}

function announcementFields({ active, suffix, hops }: Announcement): Field[] {
  return [byte(active ? 1 : 0), text(suffix), varint(hops.length), ...hops.map(bigVarint)];
}

export function encodeAnnouncement(announcement: Announcement): Buffer {
  return message(...announcementFields(announcement));
}

export function decodeAnnouncement(bytes: Uint8Array): Announcement {
  const cursor = new Cursor(bytes);
  const announcement = readAnnouncement(cursor);
  cursor.end();
  return announcement;
}

/** An announcement between workers of one node, which is no message of the draft */
export interface InnerAnnouncement extends Announcement {
  /** Undefined when the broadcast has ended */
  publication: Publication | undefined;
}

export function encodeInnerAnnouncement({ publication, ...announcement }: InnerAnnouncement): Buffer {
  const fields = announcementFields(announcement);
  if (publication) fields.push(text(JSON.stringify(publication)));
  return message(...fields);
}

export function decodeInnerAnnouncement(bytes: Uint8Array): InnerAnnouncement {
  const cursor = new Cursor(bytes);
  const announcement = readAnnouncement(cursor);
  const publication = announcement.active ? (JSON.parse(cursor.text(MOQ_LIMITS.name)) as Publication) : undefined;
  cursor.end();
  return { ...announcement, publication };
}

function readAnnouncement(cursor: Cursor): Announcement {
  const status = cursor.byte();
  // 2 replaces an announcement, as a second 1 does.
  if (status > 2) throw violation(`an announcement has the status ${status}`);
  const suffix = cursor.text(MOQ_LIMITS.name);
  const count = cursor.varint();
  if (count > MOQ_LIMITS.hops) throw violation(`an announcement came through ${count} nodes`);
  const hops = Array.from({ length: count }, () => cursor.bigVarint());
  return { active: status !== 0, suffix, hops };
}

export interface TrackRequest {
  broadcast: string;
  track: string;
}

export function encodeTrackRequest({ broadcast, track }: TrackRequest): Buffer {
  return message(text(broadcast), text(track));
}

export function decodeTrackRequest(bytes: Uint8Array): TrackRequest {
  const cursor = new Cursor(bytes);
  const request = { broadcast: cursor.text(MOQ_LIMITS.name), track: cursor.text(MOQ_LIMITS.name) };
  cursor.end();
  return request;
}

export function encodeTrackInfo(info: TrackInfo): Buffer {
  return message(...trackInfoFields(info));
}

export function decodeTrackInfo(bytes: Uint8Array): TrackInfo {
  const cursor = new Cursor(bytes);
  const info = readTrackInfo(cursor);
  cursor.end();
  return info;
}

export function trackInfoFields({ priority, ordered, cache, timescale }: TrackInfo): Field[] {
  return [byte(priority), flag(ordered), varint(cache), varint(timescale)];
}

export function readTrackInfo(cursor: Cursor): TrackInfo {
  const info = {
    priority: cursor.byte(),
    ordered: cursor.flag(),
    cache: cursor.varint(),
    timescale: cursor.varint(),
  };
  if (info.timescale === 0) throw violation('a track has the timescale 0');
  return info;
}

export interface SubscribeOptions {
  /** 0 to 255; the highest is sent first */
  priority: number;
  /** True: older groups are sent first */
  ordered: boolean;
  /** Milliseconds for which a group that is not the newest is still wanted */
  maxLatency: number;
  /** First group; undefined for the newest */
  start: number | undefined;
  /** Last group; undefined for no end */
  end: number | undefined;
}

export interface Subscribe extends SubscribeOptions, TrackRequest {
  id: number;
}

export function encodeSubscribe({ id, broadcast, track, ...options }: Subscribe): Buffer {
  return message(varint(id), text(broadcast), text(track), ...optionFields(options));
}

export function decodeSubscribe(bytes: Uint8Array): Subscribe {
  const cursor = new Cursor(bytes);
  const id = cursor.varint();
  const broadcast = cursor.text(MOQ_LIMITS.name);
  const track = cursor.text(MOQ_LIMITS.name);
  const subscribe = { id, broadcast, track, ...readOptions(cursor) };
  cursor.end();
  return subscribe;
}

export function encodeSubscribeUpdate(options: SubscribeOptions): Buffer {
  return message(...optionFields(options));
}

export function decodeSubscribeUpdate(bytes: Uint8Array): SubscribeOptions {
  const cursor = new Cursor(bytes);
  const options = readOptions(cursor);
  cursor.end();
  return options;
}

function optionFields({ priority, ordered, maxLatency, start, end }: SubscribeOptions): Buffer[] {
  return [byte(priority), flag(ordered), varint(maxLatency), optional(start), optional(end)];
}

function readOptions(cursor: Cursor): SubscribeOptions {
  return {
    priority: cursor.byte(),
    ordered: cursor.flag(),
    maxLatency: cursor.varint(),
    start: cursor.optional(),
    end: cursor.optional(),
  };
}

/** What the publisher says on the stream of a subscription */
export type SubscribeResponse =
  /** Number of the first group that comes */
  | { kind: 'start'; group: number }
  /** The first number that no group will have */
  | { kind: 'end'; group: number }
  /** Groups `first` to `last` do not come. */
  | { kind: 'drop'; first: number; last: number; code: number };

const responseTypes = ['start', 'end', 'drop'] as const;

export function encodeSubscribeResponse(response: SubscribeResponse): Buffer {
  const body =
    response.kind === 'drop'
      ? message(varint(response.first), varint(response.last), varint(response.code))
      : message(varint(response.group));
  return Buffer.concat([varint(responseTypes.indexOf(response.kind)), body]);
}

export function decodeSubscribeResponse(type: number, bytes: Uint8Array): SubscribeResponse {
  const kind = responseTypes[type];
  const cursor = new Cursor(bytes);
  if (kind === undefined) throw violation(`a subscription has a response of the type ${type}`);
  const response: SubscribeResponse =
    kind === 'drop'
      ? { kind, first: cursor.varint(), last: cursor.varint(), code: cursor.varint() }
      : { kind, group: cursor.varint() };
  cursor.end();
  return response;
}

export interface Fetch extends TrackRequest {
  priority: number;
  group: number;
}

export function encodeFetch({ broadcast, track, priority, group }: Fetch): Buffer {
  return message(text(broadcast), text(track), byte(priority), varint(group));
}

export function decodeFetch(bytes: Uint8Array): Fetch {
  const cursor = new Cursor(bytes);
  const fetch = {
    broadcast: cursor.text(MOQ_LIMITS.name),
    track: cursor.text(MOQ_LIMITS.name),
    priority: cursor.byte(),
    group: cursor.varint(),
  };
  cursor.end();
  return fetch;
}

/** Head of the stream of a group */
export interface GroupHead {
  subscription: number;
  sequence: number;
}

export function encodeGroupHead({ subscription, sequence }: GroupHead): Buffer {
  return message(varint(subscription), varint(sequence));
}

export function decodeGroupHead(bytes: Uint8Array): GroupHead {
  const cursor = new Cursor(bytes);
  const head = { subscription: cursor.varint(), sequence: cursor.varint() };
  cursor.end();
  return head;
}
