import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { seededRandom } from '../support/lossy_relay.js';

export interface RelayOptions {
  /** Share of the datagrams that are dropped, each way. */
  loss?: number;
  seed?: number;
  /** Called when this many bytes went to the client. */
  after?: { bytes: number; call: () => void };
}

/** Carries UDP datagrams between one client at a time and a server, both on loopback. */
export interface Relay {
  port: number;
  counts: {
    dropped: number;
    carried: number;
    /** Full datagrams of the client before the server's first full one, which has the ServerHello: the ClientHello. */
    hello: number;
    /** Datagrams of the client that begin with a 0-RTT packet. */
    early: number;
    /** Datagrams of the server since the client's port changed. */
    afterRebinding: number;
  };
  /** From now on clients come from another port, as behind a NAT that forgot them. */
  rebind(): void;
  close(): void;
}

/** What the server sees of a client. */
interface Inside {
  socket: Socket;
  port: number;
}

/** The least size of a client's datagram with an Initial packet: RFC 9000 §14.1. */
const minInitial = 1200;

/** Long header and packet type, RFC 9000 §17.2.3. */
const [typeBits, zeroRtt] = [0xb0, 0x90];

/** `target`: the server's port, asked for with the first datagram of a client if it is a function. */
export async function startRelay(
  target: number | (() => number),
  { loss = 0, seed = 1, after }: RelayOptions = {},
): Promise<Relay> {
  const random = seededRandom(seed);
  const counts = { dropped: 0, carried: 0, hello: 0, early: 0, afterRebinding: 0 };
  const outside = createSocket('udp4');
  const portOfServer = typeof target === 'number' ? (): number => target : target;
  const insides = new Map<number, Inside>();
  let bytes = 0;
  let answered = false;
  let rebound = false;
  const pass = (send: () => void): void => {
    if (loss > 0 && random() < loss) counts.dropped += 1;
    else {
      counts.carried += 1;
      send();
    }
  };
  const openInside = (client: number): Inside => {
    const socket = createSocket('udp4');
    const inside = { socket, port: portOfServer() };
    socket.on('message', (datagram) => {
      if (datagram.length >= minInitial) answered = true;
      if (rebound) counts.afterRebinding += 1;
      const before = bytes;
      bytes += datagram.length;
      if (after && before < after.bytes && bytes >= after.bytes) after.call();
      pass(() => outside.send(datagram, client, '127.0.0.1'));
    });
    insides.set(client, inside);
    return inside;
  };
  outside.on('message', (datagram, client) => {
    if (((datagram[0] ?? 0) & typeBits) === zeroRtt) counts.early += 1;
    if (!answered && datagram.length >= minInitial) counts.hello += 1;
    const { socket, port } = insides.get(client.port) ?? openInside(client.port);
    pass(() => socket.send(datagram, port, '127.0.0.1'));
  });
  outside.bind(0, '127.0.0.1');
  await once(outside, 'listening');
  const closeInsides = (): void => {
    for (const { socket } of insides.values()) socket.close();
    insides.clear();
  };
  return {
    port: outside.address().port,
    counts,
    rebind() {
      rebound = true;
      closeInsides();
    },
    close() {
      outside.close();
      closeInsides();
    },
  };
}
