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
    /**
     * Full datagrams with Initial packets that a client sends before the server sends it one, which has the ServerHello: the
     * ClientHello. An ACK of a part of the ClientHello is not full. The most of any client.
     */
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
  /** Its full datagrams with Initial packets, before the server's first one */
  hello: number;
  answered: boolean;
}

/** The least size of a client's datagram with an Initial packet: RFC 9000 §14.1. */
const minInitial = 1200;

/** Long header and packet type, RFC 9000 §17.2.3. */
const [typeBits, initial, zeroRtt] = [0xb0, 0x80, 0x90];

const typeOf = (datagram: Buffer): number => (datagram[0] ?? 0) & typeBits;
/** A server may send full datagrams of other kinds, such as a PATH_CHALLENGE to a client that it knows. */
const isHello = (datagram: Buffer): boolean => datagram.length >= minInitial && typeOf(datagram) === initial;

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
    const inside: Inside = { socket, port: portOfServer(), hello: 0, answered: false };
    socket.on('message', (datagram) => {
      if (datagram.length > longest) return;
      if (datagram.length >= minInitial) counts.full += 1;
      inside.answered ||= isHello(datagram);
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
    if (typeOf(datagram) === zeroRtt) counts.early += 1;
    counts.fromClient += 1;
    const inside = insides.get(client.port) ?? openInside(client.port);
    if (!inside.answered && isHello(datagram)) counts.hello = Math.max(counts.hello, (inside.hello += 1));
    pass(() => inside.socket.send(datagram, inside.port, '127.0.0.1'));
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
