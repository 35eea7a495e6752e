import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { seededRandom } from '../support/lossy_relay.js';

export interface RelayOptions {
  /** Share of the datagrams that are dropped, each way. */
  loss?: number;
  seed?: number;
  /** Longest datagram that passes; default: all do. */
  longest?: number;
  /** What to call when this many bytes went to the client. */
  after?: readonly { bytes: number; call: () => void }[];
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
    /** Datagrams of the client. */
    fromClient: number;
    /** Datagrams of the server that are as long as a client's with an Initial packet: those with much data. */
    full: number;
    /** Bytes of the server's datagrams. */
    toClientBytes: number;
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
  { loss = 0, seed = 1, longest = Infinity, after = [] }: RelayOptions = {},
): Promise<Relay> {
  const random = seededRandom(seed);
  const counts = {
    dropped: 0,
    carried: 0,
    hello: 0,
    early: 0,
    afterRebinding: 0,
    fromClient: 0,
    full: 0,
    toClientBytes: 0,
  };
  const outside = createSocket('udp4');
  const portOfServer = typeof target === 'number' ? (): number => target : target;
  const insides = new Map<number, Inside>();
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
      if (datagram.length > longest) return;
      if (datagram.length >= minInitial) counts.full += 1;
      if (rebound) counts.afterRebinding += 1;
      const before = counts.toClientBytes;
      counts.toClientBytes += datagram.length;
      for (const { bytes, call } of after) if (before < bytes && counts.toClientBytes >= bytes) call();
      pass(() => outside.send(datagram, client, '127.0.0.1'));
    });
    insides.set(client, inside);
    return inside;
  };
  outside.on('message', (datagram, client) => {
    if (datagram.length > longest) return;
    if (((datagram[0] ?? 0) & typeBits) === zeroRtt) counts.early += 1;
    counts.fromClient += 1;
    if (counts.full === 0 && datagram.length >= minInitial) counts.hello += 1;
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
