import { EventEmitter } from 'node:events';
import type { ServerConnection } from '@sheaf/native';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { BackboneViolation } from '../../../src/multi_end/backbone/byte_fields.js';
import type { Channel } from '../../../src/multi_end/backbone/channel.js';
import type { BackboneMessage } from '../../../src/multi_end/backbone/messages.js';
import type { Sealer } from '../../../src/multi_end/backbone/sealed_message.js';
import { HandOvers } from '../../../src/multi_end/primary/hand_overs.js';

/** A connection of a client as the gateway has it, which writes down what is done with it. */
class FakeConnection extends EventEmitter {
  readonly done: string[] = [];
  refuses = false;
  snapshot = Buffer.from('state');

  status(): object {
    return { paths: [{ remote: { family: 'IPv4' } }] };
  }
  handOver(backend: number, { address, port }: { address: string; port: number }): Buffer {
    if (this.refuses) throw Object.assign(new Error('not yet'), { code: 'BACKEND_REFUSED' });
    this.done.push(`handOver ${backend} ${address}:${port}`);
    return Buffer.from(this.snapshot);
  }
  offerBackend(backend: number): void {
    this.done.push(`offer ${backend}`);
  }
  withdrawBackend(backend: number, how: string): void {
    this.done.push(`withdraw ${backend} ${how}`);
  }
  receiveBackendMessage(backend: number, bytes: Buffer): void {
    if (bytes.length === 0) throw Object.assign(new Error('no backend writes this'), { code: 'BACKEND_MESSAGE' });
    this.done.push(`message ${backend} ${bytes.toString()}`);
  }
}

const sent: BackboneMessage[] = [];
const channel = { send: (message: BackboneMessage) => sent.push(message) } as unknown as Channel;
const sealer = {
  seal: (snapshot: Buffer) => Buffer.concat([Buffer.from('sealed '), snapshot]),
} as unknown as Sealer;

let handOvers: HandOvers;
let client: FakeConnection;
let connection: ServerConnection;
beforeEach(() => {
  sent.length = 0;
  client = new FakeConnection();
  connection = client as unknown as ServerConnection;
  handOvers = new HandOvers({
    id: 7,
    addresses: () => [
      { address: '2001:db8::7', port: 443 },
      { address: '192.0.2.7', port: 443 },
    ],
    log: pino({ level: 'silent' }),
  });
  handOvers.attach(channel, sealer, true);
});

const offered = (): void => {
  handOvers.serve();
  handOvers.add(connection);
  handOvers.onMessage({ type: 'accepted', connection: 1 });
  client.done.length = 0;
  sent.length = 0;
};

describe('a connection', () => {
  it('goes to a backend that serves, sealed, and is offered to its client once the backend has it', () => {
    handOvers.add(connection);
    expect(client.done).toEqual([]);
    handOvers.serve();
    expect(client.done).toEqual(['handOver 7 192.0.2.7:443']);
    expect(sent).toEqual([{ type: 'snapshot', connection: 1, sealed: Buffer.from('sealed state') }]);
    expect(handOvers.offered).toBe(0);
    handOvers.onMessage({ type: 'accepted', connection: 1 });
    expect(client.done.slice(1)).toEqual(['offer 7']);
    expect(handOvers.offered).toBe(1);
    // Said twice, it is offered once.
    handOvers.onMessage({ type: 'accepted', connection: 1 });
    expect(client.done).toHaveLength(2);
  });

  it('is not offered when the backend refuses it', () => {
    handOvers.serve();
    handOvers.add(connection);
    handOvers.onMessage({ type: 'refused', connection: 1, reason: 'full' });
    expect(client.done.slice(1)).toEqual(['withdraw 7 gone']);
    // Not again at once.
    handOvers.handOverWaiting();
    expect(client.done).toHaveLength(2);
    handOvers.onMessage({ type: 'accepted', connection: 1 });
    expect(client.done).toHaveLength(2);
  });

  it('is tried again later when the engine cannot hand it over yet', () => {
    client.refuses = true;
    handOvers.serve();
    handOvers.add(connection);
    expect(sent).toEqual([]);
    client.refuses = false;
    handOvers.handOverWaiting();
    expect(sent).toEqual([]);
  });

  it('whose network leads to none of the addresses stays with the gateway', () => {
    handOvers = new HandOvers({
      id: 7,
      addresses: () => [{ address: '2001:db8::7', port: 443 }],
      log: pino({ level: 'silent' }),
    });
    handOvers.attach(channel, sealer, true);
    handOvers.serve();
    handOvers.add(connection);
    expect(client.done).toEqual([]);
  });

  it('is let go when the backend drains: the client first, then the backend, and it is gone when the backend says so', () => {
    offered();
    handOvers.withdraw('drains');
    expect(client.done).toEqual(['withdraw 7 drains']);
    expect(sent).toEqual([{ type: 'release', connection: 1 }]);
    handOvers.onMessage({ type: 'left', connection: 1, code: 0 });
    expect(client.done).toEqual(['withdraw 7 drains', 'withdraw 7 gone']);
    expect(sent.slice(1)).toEqual([{ type: 'left', connection: 1, code: 0 }]);
  });

  it('is withdrawn at once from a backend that is gone, or is another process than before', () => {
    offered();
    handOvers.attach(channel, sealer, true);
    expect(client.done).toEqual([]);
    handOvers.attach(channel, sealer, false);
    expect(client.done).toEqual(['withdraw 7 gone']);
  });

  it('that was to be let go during a cut is let go after it, and comes back', () => {
    offered();
    handOvers.detach();
    handOvers.withdraw('drains');
    expect(client.done).toEqual(['withdraw 7 drains']);
    handOvers.attach(channel, sealer, true);
    handOvers.serve();
    expect(sent).toEqual([{ type: 'release', connection: 1 }]);
    handOvers.onMessage({ type: 'left', connection: 1, code: 0 });
    expect(client.done).toEqual(['withdraw 7 drains', 'withdraw 7 gone']);
  });

  it('that was closed during a cut is forgotten at the backend after it', () => {
    offered();
    handOvers.detach();
    handOvers.remove(connection);
    handOvers.attach(channel, sealer, true);
    expect(sent).toEqual([{ type: 'left', connection: 1, code: 0 }]);
    handOvers.attach(channel, sealer, true);
    expect(sent).toHaveLength(1);
  });

  it('that is closed is forgotten at the backend, too', () => {
    offered();
    handOvers.remove(connection);
    expect(sent).toEqual([{ type: 'left', connection: 1, code: 0 }]);
    handOvers.onMessage({ type: 'lease', connection: 1, bytes: Buffer.from('late') });
    expect(client.done).toEqual([]);
  });

  it('whose path was abandoned is forgotten at the backend, with the reason', () => {
    offered();
    handOvers.onPathAbandoned(connection, 0x5ea1);
    expect(sent).toEqual([{ type: 'left', connection: 1, code: 0x5ea1 }]);
  });
});

describe('messages', () => {
  it('of the engine are carried both ways', () => {
    offered();
    handOvers.onBackendMessage(connection, Buffer.from('grant'));
    expect(sent).toEqual([{ type: 'lease', connection: 1, bytes: Buffer.from('grant') }]);
    handOvers.onMessage({ type: 'lease', connection: 1, bytes: Buffer.from('request') });
    expect(client.done).toEqual(['message 7 request']);
  });

  it('that no backend sends cost the backend its connection to the gateway', () => {
    offered();
    expect(() => handOvers.onMessage({ type: 'lease', connection: 1, bytes: Buffer.alloc(0) })).toThrow(
      BackboneViolation,
    );
    for (const message of [
      { type: 'snapshot', connection: 1, sealed: Buffer.alloc(1) },
      { type: 'drain', drains: true },
      { type: 'welcome', run: Buffer.alloc(16) },
    ] as const) {
      expect(() => handOvers.onMessage(message)).toThrow(BackboneViolation);
    }
  });

  it('about connections that the backend never had are no harm', () => {
    offered();
    for (const number of [0, 2, 0xffff_ffff]) {
      handOvers.onMessage({ type: 'accepted', connection: number });
      handOvers.onMessage({ type: 'left', connection: number, code: 0 });
      handOvers.onMessage({ type: 'lease', connection: number, bytes: Buffer.alloc(0) });
    }
    expect([client.done, sent]).toEqual([[], []]);
  });
});
