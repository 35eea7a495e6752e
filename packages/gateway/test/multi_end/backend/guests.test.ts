import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Http3Server } from '@sheaf/native';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { BackboneViolation } from '../../../src/multi_end/backbone/byte_fields.js';
import { Channel } from '../../../src/multi_end/backbone/channel.js';
import { MessageReader } from '../../../src/multi_end/backbone/message_reader.js';
import type { BackboneMessage } from '../../../src/multi_end/backbone/messages.js';
import { NodeKey } from '../../../src/values/node_key.js';
import {
  loadSodium,
  sessionBytes,
  Sealer,
  snapshotKind,
  type SealingSession,
} from '../../../src/multi_end/backbone/sealed_message.js';
import { HostedGuests } from '../../../src/multi_end/backend/hosted_guests.js';

/** A connection that was taken over. */
class FakeGuest extends EventEmitter {
  readonly done: string[] = [];
  receivePrimaryMessage(bytes: Buffer): void {
    if (bytes.length === 0) throw Object.assign(new Error('no primary writes this'), { code: 'BACKEND_MESSAGE' });
    this.done.push(bytes.toString());
  }
  drain(): void {
    this.done.push('drain');
    this.emit('drained');
  }
  forget(): void {
    this.done.push('forget');
    this.emit('close', undefined);
  }
}

const primary = NodeKey.generate();
const backend = NodeKey.generate();
const sodium = await loadSodium();

let taken: { snapshot: string; kept: Buffer; guest: FakeGuest }[];
let guests: HostedGuests;
let sent: BackboneMessage[];
let most: number;

const server = {
  importConnection(snapshot: Buffer): FakeGuest {
    if (snapshot.toString() === 'bad')
      throw Object.assign(new Error('it makes no sense'), { code: 'SNAPSHOT_REFUSED' });
    const guest = new FakeGuest();
    taken.push({ snapshot: snapshot.toString(), kept: snapshot, guest });
    return guest;
  },
} as unknown as Http3Server;

function channelOf(run = 'a'): { channel: Channel; sealer: Sealer; session: SealingSession } {
  const session = { sender: primary.publicKey, receiver: backend.publicKey, session: randomBytes(sessionBytes) };
  const reader = new MessageReader();
  const channel = new Channel('site', session, run, {
    backlog: 0,
    write: (bytes) => void sent.push(...reader.read(bytes)),
    end: () => undefined,
  });
  guests.attach(channel);
  return { channel, sealer: new Sealer(primary, session, sodium, snapshotKind), session };
}

beforeEach(() => {
  taken = [];
  sent = [];
  most = 3;
  guests = new HostedGuests({
    server: () => server,
    key: backend,
    sodium,
    log: pino({ level: 'silent' }),
    most,
    returns: false,
    reading: () => ({ load: 0.25, requests: 2, bytesSent: 3, bytesReceived: 4 }),
  });
});

const snapshot = (sealer: Sealer, connection: number, text = 'state'): BackboneMessage => ({
  type: 'snapshot',
  connection,
  sealed: sealer.seal(Buffer.from(text)),
});

describe('a backend', () => {
  it('takes connections over, and wipes what it was sent', () => {
    const { channel, sealer } = channelOf();
    channel.receive(snapshot(sealer, 1));
    expect(sent).toEqual([{ type: 'accepted', connection: 1 }]);
    expect(taken.map((each) => each.snapshot)).toEqual(['state']);
    expect(taken[0]!.kept.every((byte) => byte === 0)).toBe(true);
    expect(guests.count).toBe(1);
  });

  it('refuses what is not for it, not now, or not of use, and goes on', () => {
    const { channel, sealer, session } = channelOf();
    const first = snapshot(sealer, 1);
    channel.receive(first);
    channel.receive({ ...first, connection: 2 } as BackboneMessage);
    channel.receive(snapshot(new Sealer(NodeKey.generate(), session, sodium, snapshotKind), 3));
    channel.receive(
      snapshot(new Sealer(primary, { ...session, session: randomBytes(sessionBytes) }, sodium, snapshotKind), 4),
    );
    channel.receive(snapshot(sealer, 5, 'bad'));
    expect(sent.map((message) => [message.type, 'connection' in message && message.connection])).toEqual([
      ['accepted', 1],
      ['refused', 2],
      ['refused', 3],
      ['refused', 4],
      ['refused', 5],
    ]);
    expect(sent.map((message) => ('reason' in message ? message.reason : ''))).toEqual([
      '',
      expect.stringContaining('repeated'),
      expect.stringContaining('signature'),
      expect.stringContaining('earlier connection'),
      'it makes no sense',
    ]);
    channel.receive(snapshot(sealer, 6));
    expect(guests.count).toBe(2);
  });

  it('takes no more than it may', () => {
    const { channel, sealer } = channelOf();
    for (let number = 1; number <= most + 1; number++) channel.receive(snapshot(sealer, number));
    expect(sent.at(-1)).toMatchObject({ type: 'refused', connection: most + 1 });
    expect(guests.count).toBe(most);
  });

  it('that was full, or drained, takes the next ones when it can', () => {
    const { channel, sealer } = channelOf();
    for (let number = 1; number <= most + 1; number++) channel.receive(snapshot(sealer, number));
    taken[0]!.guest.emit('close', undefined);
    channel.receive({ type: 'drain', drains: true });
    channel.receive(snapshot(sealer, 10));
    expect(sent.at(-1)).toMatchObject({ type: 'refused', connection: 10 });
    channel.receive({ type: 'drain', drains: false });
    channel.receive(snapshot(sealer, 11));
    expect(sent.at(-1)).toEqual({ type: 'accepted', connection: 11 });
  });

  it('says again that a guest has left when it is asked again', () => {
    const first = channelOf();
    for (const number of [1, 2]) first.channel.receive(snapshot(first.sealer, number));
    first.channel.lost('cut');
    for (const { guest } of taken) guest.drain();
    taken[1]!.guest.emit('close', undefined);
    const second = channelOf();
    sent.length = 0;
    for (const number of [1, 2]) second.channel.receive({ type: 'release', connection: number });
    expect(sent).toEqual([1, 2].map((connection) => ({ type: 'left', connection, code: 0 })));
    expect(guests.count).toBe(1);
  });

  it('keeps its guests over a cut of the backbone, and then speaks of them again', () => {
    const first = channelOf();
    first.channel.receive(snapshot(first.sealer, 1));
    first.channel.lost('cut');
    const { guest } = taken[0]!;
    guest.emit('primaryMessage', Buffer.from('request'));
    expect(guests.count).toBe(1);
    const second = channelOf();
    second.channel.receive({ type: 'lease', connection: 1, bytes: Buffer.from('grant') });
    expect(guest.done).toEqual(['grant']);
    guest.emit('primaryMessage', Buffer.from('request'));
    expect(sent.at(-1)).toEqual({ type: 'lease', connection: 1, bytes: Buffer.from('request') });
  });

  it('keeps the guests of a gateway that crashed apart from those of its next life', () => {
    const before = channelOf('before');
    before.channel.receive(snapshot(before.sealer, 1));
    before.channel.lost('crash');
    const after = channelOf('after');
    after.channel.receive({ type: 'left', connection: 1, code: 0 });
    after.channel.receive(snapshot(after.sealer, 1));
    expect(taken[0]!.guest.done).toEqual([]);
    expect(guests.count).toBe(2);
  });

  it('lets guests go, one or all, and forgets them when the gateway has told the client', () => {
    const { channel, sealer } = channelOf();
    for (const number of [1, 2]) channel.receive(snapshot(sealer, number));
    channel.receive({ type: 'release', connection: 1 });
    expect(sent.at(-1)).toEqual({ type: 'left', connection: 1, code: 0 });
    channel.receive({ type: 'left', connection: 1, code: 0 });
    expect(taken[0]!.guest.done).toEqual(['drain', 'forget']);
    guests.stop();
    expect(guests.state).toBe('draining');
    expect(taken[1]!.guest.done).toEqual(['drain']);
    channel.receive(snapshot(sealer, 3));
    expect(sent.at(-1)).toMatchObject({ type: 'refused', reason: 'the backend is draining' });
  });

  it('keeps guests when another process takes its place, and takes no more', () => {
    const { channel, sealer } = channelOf();
    channel.receive(snapshot(sealer, 1));
    guests.replace();
    expect(sent.at(-1)).toMatchObject({ type: 'pong', state: 'replaced' });
    expect([taken[0]!.guest.done, guests.count]).toEqual([[], 1]);
    channel.receive(snapshot(sealer, 2));
    const reason = 'another process has taken the place of this one';
    expect(sent.at(-1)).toMatchObject({ type: 'refused', connection: 2, reason });
    // The gateway drains the other process as well.
    channel.receive({ type: 'drain', drains: true });
    expect(guests.state).toBe('replaced');
    guests.stop();
    expect([guests.state, taken[0]!.guest.done]).toEqual(['draining', ['drain']]);
  });

  it('is needed until every gateway is done, or gone', async () => {
    const [one, other] = [channelOf('one'), channelOf('other')];
    one.channel.receive({ type: 'done' });
    guests.stop();
    const over = vi.fn();
    const needless = guests.needless(60_000).then(over);
    one.channel.receive({ type: 'done' });
    await new Promise(setImmediate);
    expect(over).not.toHaveBeenCalled();
    other.channel.lost('cut');
    await needless;
    // What it is told while it serves concerns an earlier time.
    const again = channelOf('again');
    await guests.needless(0);
    again.channel.receive({ type: 'done' });
    await guests.needless(60_000);
  });

  it('says how it is', () => {
    const { channel } = channelOf();
    channel.receive({ type: 'ping', sequence: 9 });
    channel.receive({ type: 'drain', drains: true });
    channel.receive({ type: 'drain', drains: false });
    const reading = {
      type: 'pong',
      load: 250,
      connections: 0,
      requests: 2,
      bytesSent: 3,
      bytesReceived: 4,
      returns: false,
    };
    expect(sent).toEqual([
      { ...reading, sequence: 9, state: 'serving' },
      { ...reading, sequence: 0, state: 'draining' },
      { ...reading, sequence: 0, state: 'serving' },
    ]);
  });

  it('ends the connection to a gateway that breaks the protocol', () => {
    const { channel, sealer } = channelOf();
    channel.receive(snapshot(sealer, 1));
    for (const message of [
      snapshot(sealer, 1),
      { type: 'lease', connection: 1, bytes: Buffer.alloc(0) },
      { type: 'accepted', connection: 1 },
    ] as BackboneMessage[]) {
      expect(() => channel.receive(message)).toThrow(BackboneViolation);
    }
    // About guests that have left, messages may cross.
    channel.receive({ type: 'lease', connection: 8, bytes: Buffer.alloc(0) });
    channel.receive({ type: 'release', connection: 8 });
  });
});
